import assert from "node:assert/strict";
import { test } from "node:test";
import { expand, findBinary, type Machine, type Sources } from "../../src/binary";

const PROJECT = "/home/ada/project";

/** A machine on which these files answer `--version` with these lines; null is a file that fails. */
function machine(files: Record<string, string | null>, platform: NodeJS.Platform = "linux"): Machine {
  return {
    platform,
    home: "/home/ada",
    env: { PATH: "/usr/local/bin:./node_modules/.bin:/usr/bin", TOOLS: "/opt/tools" },
    isExecutable: async (file) => file in files,
    version: async (file) => {
      const line = files[file];
      return typeof line === "string" ? { line } : { failure: "--version failed: exec format error" };
    },
  };
}

function sources(changes: Partial<Sources> = {}): Sources {
  return {
    setting: "",
    interpreter: undefined,
    folders: [PROJECT],
    trusted: true,
    extension: "/home/ada/.vscode/extensions/trainlint",
    ...changes,
  };
}

async function found(changes: Partial<Sources>, files: Record<string, string | null>): Promise<string | undefined> {
  const search = await findBinary(sources(changes), machine(files));
  return "found" in search ? search.found.path : undefined;
}

const VERSION = "trainlint 0.1.0";
const BUNDLED = "/home/ada/.vscode/extensions/trainlint/bundled/bin/trainlint";
const EVERYWHERE = {
  "/opt/tools/trainlint": VERSION,
  "/envs/gpu/bin/trainlint": VERSION,
  [`${PROJECT}/.venv/bin/trainlint`]: VERSION,
  [`${PROJECT}/venv/bin/trainlint`]: VERSION,
  "/usr/bin/trainlint": VERSION,
  [BUNDLED]: VERSION,
};

test("the places are searched in the order that the settings document", async () => {
  const files: Record<string, string | null> = { ...EVERYWHERE };
  const all = { setting: "/opt/tools/trainlint", interpreter: "/envs/gpu/bin/python3.12" };
  assert.equal(await found(all, files), "/opt/tools/trainlint");
  const order = [
    "/envs/gpu/bin/trainlint",
    `${PROJECT}/.venv/bin/trainlint`,
    `${PROJECT}/venv/bin/trainlint`,
    "/usr/bin/trainlint",
    BUNDLED,
  ];
  for (const expected of order) {
    assert.equal(await found({ ...all, setting: "" }, files), expected);
    delete files[expected];
  }
  assert.equal(await found({ ...all, setting: "" }, files), undefined);
});

test("a setting that leads nowhere is not replaced by another binary", async () => {
  const search = await findBinary(sources({ setting: "~/bin/trainlint" }), machine(EVERYWHERE));
  assert.deepEqual(search, {
    missing: [
      {
        path: "/home/ada/bin/trainlint",
        origin: "setting trainlint.path",
        reason: "there is no file that can be executed",
      },
    ],
  });
});

test("a file of that name that is something else, or broken, is passed over with its reason", async () => {
  const files = {
    [`${PROJECT}/.venv/bin/trainlint`]: "trainlint: a model railway planner",
    "/usr/local/bin/trainlint": null,
    "/usr/bin/trainlint": "trainlint 0.2.0-rc.1",
  };
  const search = await findBinary(sources(), machine(files));
  assert.deepEqual(search, { found: { path: "/usr/bin/trainlint", origin: "PATH", version: "0.2.0-rc.1" } });

  const { "/usr/bin/trainlint": _, ...broken } = files;
  const failed = await findBinary(sources(), machine(broken));
  assert.ok("missing" in failed);
  const reasons = failed.missing.map((miss) => miss.reason);
  assert.ok(reasons.includes('it is not trainlint: --version prints "trainlint: a model railway planner"'));
  assert.ok(reasons.includes("--version failed: exec format error"));
});

test("nothing inside a workspace that is not trusted is executed", async () => {
  const files: Record<string, string | null> = {
    [`${PROJECT}/.venv/bin/trainlint`]: VERSION,
    [`${PROJECT}/conda/bin/trainlint`]: VERSION,
  };
  const untrusted = { trusted: false, interpreter: `${PROJECT}/conda/bin/python` };
  assert.equal(await found({ ...untrusted, trusted: true }, files), `${PROJECT}/conda/bin/trainlint`);
  assert.equal(await found(untrusted, files), undefined);
  assert.equal(await found(untrusted, { ...files, [BUNDLED]: VERSION }), BUNDLED);
});

test("relative entries of PATH are not searched", async () => {
  const search = await findBinary(sources(), machine({}));
  assert.ok("missing" in search);
  const places = search.missing.map((miss) => miss.path);
  assert.ok(places.includes("/usr/bin/trainlint"));
  assert.ok(places.every((place) => !place.includes("node_modules")));
});

test("on Windows it is called trainlint.exe and lies in Scripts", async () => {
  const search = await findBinary(sources(), machine({}, "win32"));
  assert.ok("missing" in search);
  assert.match(search.missing[0]?.path ?? "", /\.venv.Scripts.trainlint\.exe/);
});

test("a setting may name the home, the workspace and the environment", () => {
  const expanded = (setting: string): string => expand(setting, sources(), machine({}));
  assert.equal(expanded("~/bin/trainlint"), "/home/ada/bin/trainlint");
  assert.equal(expanded("${workspaceFolder}/tools/trainlint"), `${PROJECT}/tools/trainlint`);
  assert.equal(expanded("${userHome}/$&/trainlint"), "/home/ada/$&/trainlint");
  assert.equal(expanded("${env:TOOLS}/trainlint"), "/opt/tools/trainlint");
  assert.equal(expanded("target/debug/trainlint"), `${PROJECT}/target/debug/trainlint`);
});
