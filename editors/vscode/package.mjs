// Packs the extension into a .vsix: `node package.mjs [--bundle BINARY --target PLATFORM]`.
// With a binary inside, the package works without any other installation, and on that platform only.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { createVSIX } from "@vscode/vsce";

const { values } = parseArgs({
  options: { bundle: { type: "string" }, target: { type: "string" }, out: { type: "string" } },
});
if ((values.bundle === undefined) !== (values.target === undefined)) {
  throw new Error("--bundle BINARY and --target PLATFORM (such as linux-x64) belong together");
}

rmSync("bundled", { recursive: true, force: true });
if (values.bundle !== undefined) {
  const folder = join("bundled", "bin");
  const binary = join(folder, basename(values.bundle).endsWith(".exe") ? "trainlint.exe" : "trainlint");
  mkdirSync(folder, { recursive: true });
  copyFileSync(values.bundle, binary);
  chmodSync(binary, 0o755);
}
const licenses = ["MIT", "APACHE"].map((name) => readFileSync(`../../LICENSE-${name}`, "utf8"));
writeFileSync("LICENSE", `Licensed under either of the following, at your option.\n\n${licenses.join("\n\n")}`);

await createVSIX({
  dependencies: false,
  allowMissingRepository: true,
  ...(values.target === undefined ? {} : { target: values.target }),
  ...(values.out === undefined ? {} : { packagePath: values.out }),
});
