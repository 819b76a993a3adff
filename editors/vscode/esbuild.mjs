// Bundles the extension, or with `--tests` the unit tests, which run without an editor.
import { readdirSync } from "node:fs";
import { build } from "esbuild";

const shared = { bundle: true, format: "cjs", platform: "node", target: "node20", logLevel: "warning" };

if (process.argv.includes("--tests")) {
  const folder = "test/unit";
  const entryPoints = readdirSync(folder).map((name) => `${folder}/${name}`);
  await build({ ...shared, entryPoints, outdir: "out/unit" });
} else {
  await build({
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    external: ["vscode"],
    minify: process.argv.includes("--minify"),
  });
}
