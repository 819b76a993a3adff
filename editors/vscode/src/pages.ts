// The pages of the rules, as the binary has them: no network, and always those of its version.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";
import type { Server } from "./server";

const SCHEME = "trainlint-rule";
const ID = /^[a-z][a-z0-9-]*$/;

interface Rule {
  readonly id: string;
  readonly summary: string;
  readonly page: string;
}

/** Serves `trainlint-rule:missing-zero-grad.md`, so that the built-in preview of Markdown can show it. */
export class Pages implements vscode.TextDocumentContentProvider {
  static readonly scheme = SCHEME;

  constructor(private readonly server: Server) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const id = uri.path.replace(/\.md$/, "");
    const rule = (await rulesOf(this.server)).find((one) => one.id === id);
    return rule?.page ?? `There is no rule \`${id}\`.`;
  }
}

/** Shows the page of a rule; without one that of the finding under the cursor, or else lets the user choose. */
export async function showRule(server: Server, id?: unknown): Promise<void> {
  const rule = typeof id === "string" ? id : (ruleAtCursor() ?? (await chooseRule(server)));
  if (rule !== undefined) {
    await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.from({ scheme: SCHEME, path: `${rule}.md` }));
  }
}

/** Makes the rule's id in the hover and in Problems open its page. */
export function linkToRule(diagnostic: vscode.Diagnostic): void {
  const code = ruleOf(diagnostic);
  if (code !== undefined) {
    const query = encodeURIComponent(JSON.stringify([code]));
    diagnostic.code = { value: code, target: vscode.Uri.parse(`command:trainlint.showRule?${query}`) };
  }
}

function ruleOf(diagnostic: vscode.Diagnostic): string | undefined {
  const code = typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code;
  return typeof code === "string" && ID.test(code) ? code : undefined;
}

function ruleAtCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor === undefined
    ? undefined
    : vscode.languages
        .getDiagnostics(editor.document.uri)
        .filter((one) => one.source === "trainlint" && one.range.contains(editor.selection.active))
        .map(ruleOf)
        .find((rule) => rule !== undefined);
}

async function chooseRule(server: Server): Promise<string | undefined> {
  const picks = (await rulesOf(server)).map((rule) => ({ label: rule.id, description: rule.summary }));
  return (await vscode.window.showQuickPick(picks, { placeHolder: "Rule", matchOnDescription: true }))?.label;
}

async function rulesOf(server: Server): Promise<readonly Rule[]> {
  const search = await server.find();
  if ("missing" in search) {
    return [];
  }
  const args = ["rules", "--output-format", "json"];
  const { stdout } = await promisify(execFile)(search.found.path, args, { windowsHide: true, maxBuffer: 1 << 26 });
  return JSON.parse(stdout) as Rule[];
}
