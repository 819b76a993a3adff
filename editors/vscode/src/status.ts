// The item in the status bar: what the server is at, and how many findings the open file has.
import * as vscode from "vscode";
import type { Condition, Server } from "./server";

export class Status implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.item = vscode.window.createStatusBarItem("trainlint.status", vscode.StatusBarAlignment.Right, 100);
    this.item.name = "trainlint";
    const draw = (): void => this.draw();
    this.subscriptions = [
      this.item,
      server.onDidChange(draw),
      vscode.window.onDidChangeActiveTextEditor(draw),
      vscode.window.onDidChangeActiveNotebookEditor(draw),
      vscode.languages.onDidChangeDiagnostics(draw),
    ];
    this.draw();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private draw(): void {
    const documents = activeDocuments();
    if (documents.length === 0) {
      this.item.hide();
      return;
    }
    const findings = documents.flatMap(findingsOf);
    const condition = this.server.condition;
    this.item.text = `${icon(condition, findings.length)} trainlint${findings.length === 0 ? "" : ` ${findings.length}`}`;
    this.item.tooltip = tooltip(condition, findings);
    this.item.command = findings.length > 0 ? "workbench.actions.view.problems" : "trainlint.showLogs";
    const wrong = condition.state === "missing" || condition.state === "failed";
    this.item.backgroundColor = wrong ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
  }
}

/** The Python documents that the user looks at: a file, or all cells of a notebook. */
function activeDocuments(): vscode.TextDocument[] {
  const notebook = vscode.window.activeNotebookEditor?.notebook;
  const documents = notebook?.getCells().map((cell) => cell.document) ?? [vscode.window.activeTextEditor?.document];
  return documents.filter((one) => one?.languageId === "python") as vscode.TextDocument[];
}

function findingsOf(document: vscode.TextDocument): vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(document.uri).filter((one) => one.source === "trainlint");
}

function icon(condition: Condition, findings: number): string {
  switch (condition.state) {
    case "off":
      return "$(circle-slash)";
    case "starting":
      return "$(loading~spin)";
    case "running":
      return findings === 0 ? "$(check)" : "$(flame)";
    case "missing":
    case "failed":
      return "$(warning)";
  }
}

function tooltip(condition: Condition, findings: readonly vscode.Diagnostic[]): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = { enabledCommands: ["trainlint.restart", "trainlint.showLogs", "trainlint.choosePath"] };
  text.appendMarkdown(`${headline(condition, findings)}\n\n`);
  text.appendMarkdown("[Restart](command:trainlint.restart) · [Logs](command:trainlint.showLogs)");
  if (condition.state === "missing") {
    text.appendMarkdown(" · [Choose the binary…](command:trainlint.choosePath)");
  }
  return text;
}

function headline(condition: Condition, findings: readonly vscode.Diagnostic[]): string {
  switch (condition.state) {
    case "off":
      return "**trainlint** is switched off (`trainlint.enable`)";
    case "starting":
      return "**trainlint** is starting";
    case "running":
      return `**trainlint ${condition.binary.version}** (${condition.binary.origin})\n\n${count(findings)} in this file`;
    case "missing":
      return "**trainlint** was not found";
    case "failed":
      return `**trainlint** does not run: ${condition.reason}`;
  }
}

function count(findings: readonly vscode.Diagnostic[]): string {
  const errors = findings.filter((one) => one.severity === vscode.DiagnosticSeverity.Error).length;
  const others = findings.length - errors;
  const parts = [plural(errors, "error"), plural(others, "warning")].filter((part) => part !== "");
  return parts.length === 0 ? "No findings" : parts.join(" and ");
}

function plural(count: number, noun: string): string {
  return count === 0 ? "" : `${count} ${noun}${count === 1 ? "" : "s"}`;
}
