// The settings that this side heeds. The server asks for its own (`select`, `ignore`, `gpu` …) by itself.
import * as vscode from "vscode";

export const SECTION = "trainlint";

export interface Settings {
  readonly enable: boolean;
  readonly path: string;
  readonly args: readonly string[];
  readonly run: "onType" | "onSave";
}

export function readSettings(): Settings {
  const settings = vscode.workspace.getConfiguration(SECTION);
  return {
    enable: settings.get("enable", true),
    path: settings.get("path", ""),
    args: settings.get("args", []),
    run: settings.get("run", "onType"),
  };
}

/** Whether a change is about something that only a new server heeds. */
export function needsRestart(change: vscode.ConfigurationChangeEvent): boolean {
  return ["enable", "path", "args", "run"].some((key) => change.affectsConfiguration(`${SECTION}.${key}`));
}
