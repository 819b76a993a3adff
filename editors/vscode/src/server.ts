// The language server: finds it, starts it, and says what it is at. One server for the window: it knows several
// folders.
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, State } from "vscode-languageclient/node";
import { type Binary, findBinary, type Miss } from "./binary";
import { thisMachine } from "./machine";
import { linkToRule } from "./pages";
import { selectedInterpreter } from "./python";
import { readSettings, SECTION, type Settings } from "./settings";

export type Condition =
  | { readonly state: "off" | "starting" }
  | { readonly state: "running"; readonly binary: Binary }
  | { readonly state: "missing"; readonly misses: readonly Miss[]; readonly asked: boolean }
  | { readonly state: "failed"; readonly reason: string };

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  private readonly changed = new vscode.EventEmitter<Condition>();
  private now: Condition = { state: "off" };
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly log: vscode.LogOutputChannel,
    private readonly trace: vscode.LogOutputChannel,
  ) {}

  get condition(): Condition {
    return this.now;
  }

  /** Starts the server, anew if it runs. Calls are carried out one after another. */
  restart(): Promise<void> {
    return this.enqueue(async () => {
      await this.stopClient();
      const settings = readSettings();
      if (settings.enable) {
        await this.startClient(settings);
      } else {
        this.become({ state: "off" });
      }
    });
  }

  stop(): Promise<void> {
    return this.enqueue(() => this.stopClient());
  }

  /** The binary that would be started now. */
  async find(settings: Settings = readSettings()): Promise<ReturnType<typeof findBinary>> {
    const sources = {
      setting: settings.path,
      interpreter: vscode.workspace.isTrusted ? await selectedInterpreter(this.log) : undefined,
      folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
      trusted: vscode.workspace.isTrusted,
      extension: this.extension.fsPath,
    };
    return findBinary(sources, thisMachine);
  }

  dispose(): void {
    this.changed.dispose();
    void this.stop();
  }

  private async startClient(settings: Settings): Promise<void> {
    this.become({ state: "starting" });
    const search = await this.find(settings);
    if ("missing" in search) {
      for (const miss of search.missing) {
        this.log.warn(`not ${miss.path} (${miss.origin}): ${miss.reason}`);
      }
      this.become({ state: "missing", misses: search.missing, asked: settings.path !== "" });
      return;
    }
    const binary = search.found;
    this.log.info(`starting ${binary.path} ${binary.version}, found in: ${binary.origin}`);
    const client = new LanguageClient(
      SECTION,
      "trainlint",
      { command: binary.path, args: ["server", ...settings.args] },
      this.options(settings),
    );
    client.onDidChangeState(({ newState }) => {
      if (this.client === client) {
        this.follow(newState, binary);
      }
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.log.error(`the server did not start: ${String(error)}`);
      this.become({ state: "failed", reason: String(error) });
    }
  }

  private follow(state: State, binary: Binary): void {
    if (state === State.Running) {
      this.become({ state: "running", binary });
    } else if (state === State.Stopped) {
      this.become({ state: "failed", reason: "the server has ended" });
    } else {
      this.become({ state: "starting" });
    }
  }

  private options(settings: Settings): LanguageClientOptions {
    const onType = settings.run === "onType";
    return {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
      ],
      outputChannel: this.log,
      traceOutputChannel: this.trace,
      initializationOptions: {
        settings: vscode.workspace.getConfiguration(SECTION),
        hoversBesideDiagnostics: true,
        rendersTables: true,
      },
      synchronize: { configurationSection: SECTION },
      diagnosticPullOptions: { onChange: onType, onSave: !onType },
      markdown: { isTrusted: { enabledCommands: ["trainlint.showRule"] } },
      middleware: {
        async provideDiagnostics(document, previous, token, next) {
          const report = await next(document, previous, token);
          if (report !== null && report !== undefined && "items" in report) {
            report.items.forEach(linkToRule);
          }
          return report;
        },
      },
    };
  }

  private async stopClient(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client !== undefined && client.state !== State.Stopped) {
      try {
        await client.dispose();
      } catch (error) {
        // One that hangs or has died is not worth more words: another is about to take its place.
        this.log.warn(`the server did not stop as it should: ${String(error)}`);
      }
    }
  }

  private become(condition: Condition): void {
    this.now = condition;
    this.changed.fire(condition);
  }

  private enqueue(task: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(task, task);
    return this.queue;
  }
}
