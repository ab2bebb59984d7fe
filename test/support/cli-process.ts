import { spawn, type ChildProcess } from "node:child_process";
import path from "node:path";
import { EventQueue, eventually } from "./event-queue.js";
import { binaries } from "./service-process.js";

export interface CliRun {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CliAround {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly directory?: string;
}

/** Runs `bunting` as users do, until it ends. The environment is empty, independent of the machine's. */
export function runBunting(args: readonly string[], around: CliAround = {}): Promise<CliRun> {
  const { stdin = "", env = {}, directory = path.dirname(path.dirname(import.meta.dirname)) } = around;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [binaries.cli, ...args], { env, cwd: directory });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
    // It may end before it has read all.
    child.stdin.on("error", () => undefined).end(stdin);
  });
}

/** A command that runs until Ctrl-C and prints JSON, an object a line. */
export class FollowedCommand {
  readonly #child: ChildProcess;
  readonly #objects = new EventQueue<Readonly<Record<string, unknown>>>();
  readonly #closed: Promise<number | null>;
  #err = "";

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [binaries.cli, ...args], {
      env: {},
      stdio: ["ignore", "pipe", "pipe"],
    });
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#objects.push(JSON.parse(line) as Record<string, unknown>);
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#err += text));
    this.#closed = new Promise((resolve) => this.#child.once("close", resolve));
  }

  next(): Promise<Readonly<Record<string, unknown>>> {
    return this.#objects.nextEvent("a line of the command");
  }

  /** Waits until the command has said this on its standard error. */
  async untilNotes(text: string): Promise<void> {
    await eventually(() => this.#err.includes(text), `the note ${text}`);
  }

  async interrupt(): Promise<{ readonly code: number | null; readonly err: string }> {
    this.#child.kill("SIGINT");
    return { code: await this.#closed, err: this.#err };
  }
}
