// Starts VS Code in a browser: code-server with the packed extension, fresh folders of its own, on a free port.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

// What a new user sees first would otherwise cover what the test is about.
const SETTINGS = {
  "chat.disableAIFeatures": true,
  "editor.hover.above": false,
  "editor.minimap.enabled": false,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "remote.autoForwardPorts": false,
  "security.workspace.trust.startupPrompt": "never",
  "telemetry.telemetryLevel": "off",
  "window.autoDetectColorScheme": false,
  "workbench.colorTheme": "Default Dark Modern",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};

/**
 * `installed` is where npm put code-server, `node` the Node.js that it was built for, `work` an empty folder,
 * `workspace` the folder to open. Gives the address, a way to change the settings of the machine, and one to stop.
 */
export async function startCodeServer({ installed, node, work, workspace, vsix, settings, trusted }) {
  const user = join(work, "user");
  const extensions = join(work, "extensions");
  mkdirSync(join(user, "User"), { recursive: true });
  mkdirSync(join(user, "Machine"), { recursive: true });
  mkdirSync(extensions, { recursive: true });
  writeFileSync(join(user, "User", "settings.json"), JSON.stringify(SETTINGS));
  // What depends on the machine, such as a path, is not taken from the browser's side.
  const configure = (changes) => writeFileSync(join(user, "Machine", "settings.json"), JSON.stringify(changes));
  configure(settings ?? {});
  const entry = join(installed, "node_modules", "code-server", "out", "node", "entry.js");
  const folders = ["--user-data-dir", user, "--extensions-dir", extensions];
  execFileSync(node, [entry, ...folders, "--install-extension", vsix], { stdio: ["ignore", "ignore", "inherit"] });

  const port = await freePort();
  const quiet = ["--disable-telemetry", "--disable-update-check", ...(trusted ? ["--disable-workspace-trust"] : [])];
  const address = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`];
  const server = spawn(node, [entry, ...folders, ...quiet, ...address, workspace], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const ended = once(server, "exit");
  await listening(server, ended);
  return {
    url: `http://127.0.0.1:${port}/?folder=${encodeURIComponent(workspace)}`,
    configure,
    async stop() {
      // The server runs the hosts of extensions as children; a group of its own ends as a whole.
      process.kill(-server.pid, "SIGTERM");
      await ended;
    },
  };
}

/** Resolves when the server listens; what it says before that is told only if it ends instead. */
function listening(server, ended) {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (chunk) => {
      said += chunk;
      if (said.includes("HTTP server listening")) {
        resolve();
      }
    };
    server.stdout.on("data", hear);
    server.stderr.on("data", hear);
    void ended.then(() => reject(new Error(`code-server ended:\n${said}`)));
  });
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  return port;
}
