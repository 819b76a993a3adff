// The interpreter that is selected in Microsoft's Python extension, where that is installed.
import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

/** Undefined without the extension, and where what is selected cannot be resolved. */
export async function selectedInterpreter(log: vscode.LogOutputChannel): Promise<string | undefined> {
  try {
    const environments = (await pythonExtension())?.environments;
    if (environments === undefined) {
      return undefined;
    }
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const environment = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
    return environment?.executable.uri?.fsPath;
  } catch (error) {
    // The search goes on without it; a broken Python extension says so itself.
    log.warn(`the Python extension does not say which environment is selected: ${String(error)}`);
    return undefined;
  }
}

/** Calls back whenever another environment is selected. */
export async function onInterpreterChange(callback: () => void): Promise<vscode.Disposable | undefined> {
  try {
    return (await pythonExtension())?.environments.onDidChangeActiveEnvironmentPath(callback);
  } catch {
    return undefined;
  }
}

async function pythonExtension(): Promise<PythonExtension | undefined> {
  return vscode.extensions.getExtension("ms-python.python") === undefined ? undefined : PythonExtension.api();
}
