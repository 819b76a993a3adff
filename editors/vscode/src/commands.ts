// What the user can ask for by name.
import * as vscode from "vscode";
import { showRule } from "./pages";
import type { Server } from "./server";
import { SECTION } from "./settings";

// The server's own command, which the client registers for it.
const CONFIRM = "trainlint.confirm";

export function registerCommands(server: Server, log: vscode.LogOutputChannel): vscode.Disposable {
  const commands: Record<string, (...args: unknown[]) => unknown> = {
    "trainlint.restart": () => server.restart(),
    "trainlint.showLogs": () => log.show(),
    "trainlint.showRule": (id) => showRule(server, id),
    "trainlint.confirmFinding": () => confirmFinding(server),
    "trainlint.fixAll": fixAll,
    "trainlint.choosePath": choosePath,
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([id, run]) => vscode.commands.registerCommand(id, run)),
  );
}

/** The server runs what is under the cursor, and shows what came out of it, or why there is nothing to run. */
async function confirmFinding(server: Server): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return;
  }
  if (server.condition.state !== "running") {
    void vscode.window.showWarningMessage("There is nothing to confirm while trainlint does not run.");
    return;
  }
  const { line, character } = editor.selection.active;
  const target = { uri: editor.document.uri.toString(), position: { line, character } };
  try {
    await vscode.commands.executeCommand(CONFIRM, target);
  } catch {
    // The server has shown why.
  }
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
