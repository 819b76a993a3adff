// The entry: makes the parts, and restarts the server when what it rests on changes.
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { Pages } from "./pages";
import { onInterpreterChange } from "./python";
import { type Condition, Server } from "./server";
import { needsRestart } from "./settings";
import { Status } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("trainlint", { log: true });
  const trace = vscode.window.createOutputChannel("trainlint trace", { log: true });
  const started = new Server(context.extensionUri, log, trace);
  server = started;
  const restart = (): void => void started.restart();
  context.subscriptions.push(
    log,
    trace,
    started,
    new Status(started),
    registerCommands(started, log),
    vscode.workspace.registerTextDocumentContentProvider(Pages.scheme, new Pages(started)),
    vscode.workspace.onDidChangeConfiguration((change) => needsRestart(change) && restart()),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    started.onDidChange((condition) => void tell(condition, log)),
  );
  const listening = await onInterpreterChange(restart);
  if (listening !== undefined) {
    context.subscriptions.push(listening);
  }
  await started.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** Says what is wrong where nothing else would: without a server the editor looks as if all were well. */
async function tell(condition: Condition, log: vscode.LogOutputChannel): Promise<void> {
  if (condition.state !== "missing") {
    return;
  }
  const [first] = condition.misses;
  const message =
    condition.asked && first !== undefined
      ? `The setting trainlint.path leads nowhere: ${first.reason} (${first.path}).`
      : "Nothing is checked, since trainlint was not found: neither in the Python environment, nor on PATH, nor in the extension.";
  const choice = await vscode.window.showWarningMessage(message, "Choose Binary…", "Open Settings", "Show Logs");
  switch (choice) {
    case "Choose Binary…":
      await vscode.commands.executeCommand("trainlint.choosePath");
      break;
    case "Open Settings":
      await vscode.commands.executeCommand("workbench.action.openSettings", "trainlint.path");
      break;
    case "Show Logs":
      log.show();
      break;
    case undefined:
      break;
  }
}
