import { spawn, type ChildProcess as NodeChildProcess } from "node:child_process";
import type { Handlers, ReplyMessage } from "./child-protocol.js";

export interface ChildProcessOptions {
  /** For error messages. */
  readonly name: string;
  readonly script: string;
  readonly nodeFlags?: readonly string[];
  /** In addition to the usual variables of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Arguments of the script. */
  readonly args?: readonly string[];
  /** The core to run on; any if undefined. */
  readonly core: number | undefined;
  /** Our binaries get no channel, which would count in their memory. Default: a channel for calls. */
  readonly hasChannel?: boolean;
}

interface PendingCall {
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A process that a case measures, or that makes load. If it ends or fails unexpectedly, everything that waits for it fails. */
export class ChildProcess<H extends Handlers = Handlers> {
  readonly name: string;
  readonly #child: NodeChildProcess;
  readonly #pending = new Map<number, PendingCall>();
  readonly #ended: Promise<void>;
  #stderr = "";
  #lastId = 0;
  #failure: Error | undefined;
  #isStopping = false;

  constructor(options: ChildProcessOptions) {
    const { name, script, nodeFlags = [], environment, args = [], core, hasChannel = true } = options;
    this.name = name;
    const command = [process.execPath, ...nodeFlags, script, ...args];
    // taskset replaces itself with the process it starts, so the channel and the pid are node's.
    const [file = "", ...rest] =
      core === undefined ? command : ["taskset", "--cpu-list", String(core), ...command];
    this.#child = spawn(file, rest, {
      env: { ...cleanEnvironment(), ...environment },
      stdio: ["ignore", "ignore", "pipe", ...(hasChannel ? ["ipc" as const] : [])],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-20_000);
    });
    this.#child.on("message", (message) => this.#receive(message as ReplyMessage));
    this.#ended = new Promise((resolve) => {
      this.#child.once("error", (error) => this.#fail(error));
      this.#child.once("close", (code, signal) => {
        if (!this.#isStopping)
          this.#fail(new Error(`it ended (${signal ?? `exit ${code}`}): ${this.#stderr.slice(-2000)}`));
        resolve();
      });
    });
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.name} did not start`);
    return this.#child.pid;
  }

  /** Rejects when the child's handler does, when the child fails, and after the timeout. */
  async call<K extends keyof H & string>(
    name: K,
    input: Parameters<H[K]>[0],
    timeoutMs = 60_000,
  ): Promise<Awaited<ReturnType<H[K]>>> {
    if (this.#failure !== undefined) throw this.#failure;
    const id = ++this.#lastId;
    const output = await new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${this.name}: no answer to "${name}" in ${timeoutMs / 1000} s`)),
        timeoutMs,
      );
      this.#pending.set(id, {
        resolve: (value) => {
          clearTimeout(timer);
          resolve(value);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      this.#child.send({ id, name, input });
    });
    return output as Awaited<ReturnType<H[K]>>;
  }

  /** Throws what the child failed with, if it did. */
  assertRuns(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.#isStopping = true;
    this.#child.kill(signal);
    await this.#ended;
  }

  #receive(message: ReplyMessage): void {
    if ("failure" in message) {
      this.#fail(new Error(message.failure));
      return;
    }
    const call = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if ("error" in message) call?.reject(new Error(`${this.name}: ${message.error}`));
    else call?.resolve(message.output);
  }

  #fail(error: Error): void {
    this.#failure ??= new Error(`${this.name}: ${error.message}`, { cause: error });
    for (const call of this.#pending.values()) call.reject(this.#failure);
    this.#pending.clear();
  }
}

/** Without the caller's variables that change the memory or behaviour of a process, such as certificates to load or node options. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, LANG, TMPDIR } = process.env;
  return Object.fromEntries(
    Object.entries({ PATH, HOME, LANG, TMPDIR }).filter(([, value]) => value !== undefined),
  );
}
