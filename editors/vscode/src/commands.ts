// What the user can ask for by name.
import * as vscode from "vscode";
import { showRule } from "./pages";
import type { Server } from "./server";
import { SECTION } from "./settings";

const CONFIRM = "trainlint.confirm";

export function registerCommands(server: Server, log: vscode.LogOutputChannel): vscode.Disposable {
  const commands: Record<string, (...args: unknown[]) => unknown> = {
    "trainlint.restart": () => server.restart(),
    "trainlint.showLogs": () => log.show(),
    "trainlint.showRule": (id) => showRule(server, id),
    "trainlint.confirmFinding": confirmFinding,
    "trainlint.fixAll": fixAll,
    "trainlint.choosePath": choosePath,
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([id, run]) => vscode.commands.registerCommand(id, run)),
  );
}

/** Runs what the server offers to confirm on the line of the cursor. */
async function confirmFinding(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return;
  }
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
    "vscode.executeCodeLensProvider",
    editor.document.uri,
    Number.MAX_SAFE_INTEGER,
  );
  const lens = lenses.find(
    (one) => one.command?.command === CONFIRM && one.range.start.line === editor.selection.active.line,
  );
  if (lens?.command === undefined) {
    void vscode.window.showInformationMessage("There is no finding on this line that can be confirmed by running it.");
    return;
  }
  await vscode.commands.executeCommand(CONFIRM, ...(lens.command.arguments ?? []));
}

async function fixAll(): Promise<void> {
  const kind = `source.fixAll.${SECTION}`;
  await vscode.commands.executeCommand("editor.action.sourceAction", { kind, apply: "first" });
}

async function choosePath(): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({ canSelectMany: false, title: "The trainlint binary" });
  const file = chosen?.[0]?.fsPath;
  if (file !== undefined) {
    await vscode.workspace.getConfiguration(SECTION).update("path", file, vscode.ConfigurationTarget.Global);
  }
}
