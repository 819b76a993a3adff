// The machine that the extension runs on, as the search for the binary sees it.
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import type { Machine } from "./binary";

// A binary answers in milliseconds; one that waits for something else is none of ours.
const PATIENCE = 10_000;

export const thisMachine: Machine = {
  platform: process.platform,
  home: homedir(),
  env: process.env,
  async isExecutable(file) {
    try {
      await access(file, constants.X_OK);
      return (await stat(file)).isFile();
    } catch {
      return false;
    }
  },
  version(file) {
    return new Promise((resolve) => {
      execFile(file, ["--version"], { timeout: PATIENCE, windowsHide: true }, (error, stdout) => {
        resolve(error === null ? { line: stdout.split("\n")[0] ?? "" } : { failure: `--version failed: ${error.message}` });
      });
    });
  },
};
