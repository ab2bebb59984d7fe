import { spawn, type ChildProcess } from "node:child_process";
import path from "node:path";
import type { Readable } from "node:stream";
import { imageEntrypoint, type ImageEntrypoint } from "../../scripts/images/image-entrypoint.js";
import { EventQueue, patienceMs } from "./event-queue.js";
import { lastWords } from "./last-words.js";

const root = path.dirname(path.dirname(import.meta.dirname));

/** The binaries that `npm run build` makes; tests of processes start only these. */
export const binaries = {
  proxy: path.join(root, "packages/proxy/dist/bunting-proxy.cjs"),
  agent: path.join(root, "packages/agent/dist/start-agent.cjs"),
  operator: path.join(root, "packages/operator/dist/bunting-operator.cjs"),
  cli: path.join(root, "packages/cli/dist/bundle/bunting.mjs"),
};

/** How the images start the binaries: the `image` of a process. */
export const agentImage = imageEntrypoint("agent.Dockerfile");
export const proxyImage = imageEntrypoint("proxy.Dockerfile");
export const operatorImage = imageEntrypoint("operator.Dockerfile");

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface ServiceProcessOptions {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Without it, node is started without flags of V8. */
  readonly image?: ImageEntrypoint;
  /** A command that node and its arguments are appended to. It has to become that process, not to start it. */
  readonly wrapper?: readonly string[];
  /** The user it runs as; needs root. */
  readonly uid?: number;
  readonly gid?: number;
  /** Default: that of the tests. */
  readonly directory?: string;
}

/**
 * One of our binaries as a real process. It starts with an empty environment, independent of the machine's, and logs JSON. Every test must
 * await `stop` or `kill`.
 */
export class ServiceProcess {
  readonly child: ChildProcess;
  readonly logs: LogLine[] = [];
  /** Output that is not JSON: messages for a user, or a stack. */
  readonly words: string[] = [];
  readonly #lines = new EventQueue<LogLine>();
  readonly #exit: Promise<number | null>;

  constructor(binary: string, options: ServiceProcessOptions) {
    const node = [process.execPath, ...(options.image?.nodeFlags ?? []), binary, ...options.args];
    const [command = "", ...args] = [...(options.wrapper ?? []), ...node];
    this.child = spawn(command, args, {
      env: {
        ...options.image?.environment,
        FLAGD_LOG_FORMAT: "json",
        FLAGD_PROXY_LOG_FORMAT: "json",
        ...options.env,
      },
      stdio: ["ignore", "pipe", "pipe"],
      ...(options.directory === undefined ? {} : { cwd: options.directory }),
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.gid ?? options.uid }),
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream !== null) readLines(stream, (line) => this.#read(line));
    }
    this.#exit = new Promise((resolve) => this.child.once("close", resolve));
    lastWords.add(this, path.basename(binary));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Resolves with the exit code; null if a signal ended it. */
  get exit(): Promise<number | null> {
    return this.#exit;
  }

  get output(): string {
    return [...this.words, ...this.logs.map((line) => JSON.stringify(line))].join("\n");
  }

  /** The next log line with this message. */
  nextLog(msg: string, withinMs = patienceMs): Promise<LogLine> {
    return this.#lines
      .nextMatching((line) => line.msg === msg, `the log line "${msg}"`, withinMs)
      .catch((error: unknown) => {
        throw new Error(`${(error as Error).message}; it said:\n${this.output}`);
      });
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    this.child.kill(signal);
    return this.#exit;
  }

  #read(line: string): void {
    try {
      const parsed = JSON.parse(line) as LogLine;
      this.logs.push(parsed);
      this.#lines.push(parsed);
    } catch {
      this.words.push(line);
    }
  }
}

/** Splits at line feeds only, as collectors of logs do: node:readline also splits at U+2028, which JSON may contain. */
function readLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  stream.on("end", () => {
    if (rest !== "") onLine(rest);
  });
}
