// Which binary runs, and what is said when there is none.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { binary, bundled, plain, sit } from "./sitting.mjs";
import { SCRIPT } from "./workspace.mjs";

test("a binary that is not there is missed aloud, and used once it is", async (context) => {
  const settings = { "trainlint.path": "/nowhere/trainlint" };
  const sitting = await sit({ name: "missing", files: { "train.py": SCRIPT }, vsix: plain, settings });
  context.after(sitting.leave);
  const { workbench } = sitting;
  await workbench.openFile("train.py");
  const message = workbench.page.locator(".notification-toast", { hasText: "trainlint.path leads nowhere" });
  await message.waitFor();
  assert.match(await message.innerText(), /\/nowhere\/trainlint/);
  assert.deepEqual(await message.locator(".monaco-button").allInnerTexts(), ["Choose Binary…", "Open Settings", "Show Logs"]);
  await sitting.screenshot("message");
  assert.match(await workbench.statusTooltip(), /trainlint was not found/);
  await workbench.squiggles(0);

  sitting.configure({ "trainlint.path": binary });
  await workbench.squiggles(3);
  await workbench.status("trainlint 3");
});

test("a workspace that is not trusted does not decide what is executed", async (context) => {
  const trap = '#!/bin/sh\ntouch "$(dirname "$0")/executed"\necho trainlint 0.1.0\n';
  const files = {
    "train.py": SCRIPT,
    ".venv/bin/trainlint": trap,
    "bin/trainlint": trap,
    ".vscode/settings.json": JSON.stringify({ "trainlint.path": "bin/trainlint" }),
  };
  const sitting = await sit({ name: "restricted", files, vsix: bundled, trusted: false });
  context.after(sitting.leave);
  const { workbench, workspace } = sitting;
  await workbench.openFile("train.py");
  await workbench.squiggles(3);
  assert.match(await workbench.statusTooltip(), /this extension/);
  await workbench.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
  for (const folder of ["bin", ".venv/bin"]) {
    assert.ok(!existsSync(join(workspace, folder, "executed")), `${folder}/trainlint was executed`);
  }
});
