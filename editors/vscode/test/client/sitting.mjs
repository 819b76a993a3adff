// A sitting at a fresh VS Code: a folder with files, the packed extension, a browser in front of it.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startCodeServer } from "./code_server.mjs";
import { Workbench } from "./workbench.mjs";

const tools = process.env.TRAINLINT_TOOLS;
assert.ok(tools, "TRAINLINT_TOOLS names the folder that .ci/clients-vscode has filled");
const screenshots = new URL("../../screenshots", import.meta.url).pathname;
mkdirSync(screenshots, { recursive: true });

/** The binary that is tested. */
export const binary = join(tools, "trainlint");
/** The package with the binary inside, and the one without. */
export const bundled = join(tools, "trainlint-linux-x64.vsix");
export const plain = join(tools, "trainlint.vsix");

/** `files` are texts by their paths in the workspace; those in a folder `bin` can be executed. */
export async function sit({ name, files, vsix, settings, trusted = true }) {
  const work = mkdtempSync(join(tmpdir(), "sitting-"));
  const workspace = join(work, "project");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
    chmodSync(join(workspace, path), /\bbin\//.test(path) ? 0o755 : 0o644);
  }
  const installed = join(tools, "code-server");
  const server = await startCodeServer({ installed, node: process.execPath, work, workspace, vsix, settings, trusted });
  const workbench = await Workbench.open(server.url, "/usr/bin/chromium");
  return {
    workbench,
    workspace,
    onDisk: (path) => readFileSync(join(workspace, path), "utf8"),
    configure: server.configure,
    screenshot: (step) => workbench.screenshot(join(screenshots, `${name}-${step}.png`)),
    async leave() {
      await workbench.screenshot(join(screenshots, `${name}-last.png`));
      await workbench.close();
      await server.stop();
      rmSync(work, { recursive: true, force: true });
    },
  };
}
