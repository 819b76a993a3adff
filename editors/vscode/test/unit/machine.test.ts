import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findBinary } from "../../src/binary";
import { thisMachine } from "../../src/machine";

const folder = mkdtempSync(join(tmpdir(), "trainlint-"));
after(() => rmSync(folder, { recursive: true }));

test("a binary on this machine is asked for its version", { skip: process.platform === "win32" }, async () => {
  const setting = join(folder, "trainlint");
  const sources = { setting, interpreter: undefined, folders: [], trusted: true, extension: folder };
  writeFileSync(setting, "#!/bin/sh\necho trainlint 0.1.0\n");
  const plain = await findBinary(sources, thisMachine);
  assert.ok("missing" in plain, "a file that cannot be executed");

  chmodSync(setting, 0o755);
  const search = await findBinary(sources, thisMachine);
  assert.deepEqual(search, { found: { path: setting, origin: "setting trainlint.path", version: "0.1.0" } });

  writeFileSync(setting, "#!/bin/sh\nexit 3\n");
  const failing = await findBinary(sources, thisMachine);
  assert.ok("missing" in failing);
  assert.match(failing.missing[0]?.reason ?? "", /--version failed/);
});
