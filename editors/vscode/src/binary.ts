// Where the trainlint binary is. Knows nothing of the editor: what is on the machine comes in as a `Machine`,
// so that the order of the search is tested without one.
import * as path from "node:path";

/** What the search asks the machine. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  isExecutable(file: string): Promise<boolean>;
  /** What `FILE --version` prints on its first line, or why it prints nothing. */
  version(file: string): Promise<{ line: string } | { failure: string }>;
}

/** What the search may use. */
export interface Sources {
  /** The setting `trainlint.path`, as it was written. */
  readonly setting: string;
  /** The interpreter that the Python extension has selected, if there is one. */
  readonly interpreter: string | undefined;
  /** The folders of the workspace, the first one first. */
  readonly folders: readonly string[];
  /** Whether binaries may be taken from inside the workspace. */
  readonly trusted: boolean;
  /** The folder of this extension. */
  readonly extension: string;
}

interface Candidate {
  readonly path: string;
  /** What led there, for people. */
  readonly origin: string;
}

export interface Binary extends Candidate {
  readonly version: string;
}

/** A place that was looked at in vain, and why it would not do. */
export interface Miss extends Candidate {
  readonly reason: string;
}

export type Search = { readonly found: Binary } | { readonly missing: readonly Miss[] };

/**
 * Looks in the setting, the selected environment, environments in the workspace, `PATH` and the extension.
 * A setting that leads nowhere ends the search: running another binary than the one asked for would hide it.
 */
export async function findBinary(sources: Sources, machine: Machine): Promise<Search> {
  if (sources.setting.trim() !== "") {
    const file = expand(sources.setting.trim(), sources, machine);
    const result = await examine({ path: file, origin: "setting trainlint.path" }, machine);
    return "version" in result ? { found: result } : { missing: [result] };
  }
  const missing: Miss[] = [];
  for (const candidate of candidates(sources, machine)) {
    const result = await examine(candidate, machine);
    if ("version" in result) {
      return { found: result };
    }
    missing.push(result);
  }
  return { missing };
}

function candidates(sources: Sources, machine: Machine): Candidate[] {
  const name = machine.platform === "win32" ? "trainlint.exe" : "trainlint";
  const scripts = machine.platform === "win32" ? "Scripts" : "bin";
  const found: Candidate[] = [];
  if (sources.interpreter !== undefined) {
    const file = path.join(path.dirname(sources.interpreter), name);
    found.push({ path: file, origin: "selected Python environment" });
  }
  for (const folder of sources.folders) {
    for (const environment of [".venv", "venv"]) {
      found.push({ path: path.join(folder, environment, scripts, name), origin: `${environment} of the workspace` });
    }
  }
  for (const entry of new Set((machine.env["PATH"] ?? machine.env["Path"] ?? "").split(path.delimiter))) {
    // A relative entry means another folder wherever it is read from.
    if (path.isAbsolute(entry)) {
      found.push({ path: path.join(entry, name), origin: "PATH" });
    }
  }
  const allowed = found.filter((one) => sources.trusted || !sources.folders.some((folder) => inside(one.path, folder)));
  return [...allowed, { path: path.join(sources.extension, "bundled", "bin", name), origin: "this extension" }];
}

async function examine(candidate: Candidate, machine: Machine): Promise<Binary | Miss> {
  if (!(await machine.isExecutable(candidate.path))) {
    return { ...candidate, reason: "there is no file that can be executed" };
  }
  const answer = await machine.version(candidate.path);
  if ("failure" in answer) {
    return { ...candidate, reason: answer.failure };
  }
  const version = /^trainlint (\d+\.\d+\.\d+\S*)$/.exec(answer.line.trim())?.[1];
  if (version === undefined) {
    return { ...candidate, reason: `it is not trainlint: --version prints ${JSON.stringify(answer.line.trim())}` };
  }
  return { ...candidate, version };
}

/** Replaces what a setting may hold, and makes the path absolute. */
export function expand(setting: string, sources: Pick<Sources, "folders">, machine: Pick<Machine, "home" | "env">): string {
  const first = sources.folders[0] ?? machine.home;
  const replaced = setting
    .replace(/^~(?=$|[\\/])/, () => machine.home)
    .replaceAll("${workspaceFolder}", () => first)
    .replaceAll("${userHome}", () => machine.home)
    .replace(/\$\{env:([^}]+)\}/g, (_, name: string) => machine.env[name] ?? "");
  return path.resolve(first, replaced);
}

function inside(file: string, folder: string): boolean {
  const way = path.relative(folder, file);
  return way !== "" && way.split(path.sep)[0] !== ".." && !path.isAbsolute(way);
}
