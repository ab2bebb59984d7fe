import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { reaper } from "./reaper.js";
import { rssBytes } from "./rss-bytes.js";

/** One component of a cluster as a process in its own process group, with its output in a file. `start` may follow `kill`. */
export class ClusterProcess {
  readonly name: string;
  /** stdout and stderr of all its runs. */
  readonly logFile: string;
  readonly #binary: string;
  readonly #environment: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #exit: Promise<void> = Promise.resolve();

  constructor(binary: string, name: string, directory: string) {
    this.name = name;
    this.logFile = path.join(directory, `${name}.log`);
    this.#binary = binary;
    // Garbage collection takes a fifth of the processor time of an API server whose heap may only double; it takes some 100 MB more this way.
    const { PATH, GOGC = "400" } = process.env;
    this.#environment = { HOME: directory, PATH, GOGC };
  }

  get isRunning(): boolean {
    return this.#child?.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (!this.isRunning || pid === undefined)
      throw new Error(`${this.name} is not running${this.describeLog()}`);
    return pid;
  }

  start(args: readonly string[]): void {
    if (this.isRunning) throw new Error(`${this.name} is already running`);
    const log = openSync(this.logFile, "a");
    const child = spawn(this.#binary, args, {
      env: this.#environment,
      stdio: ["ignore", log, log],
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) reaper.group(pid);
    this.#exit = new Promise((resolve) => {
      child.once("error", () => resolve());
      child.once("exit", () => {
        if (pid !== undefined) reaper.gone(pid);
        resolve();
      });
    });
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.isRunning) process.kill(-this.pid, "SIGKILL");
    await this.#exit;
  }

  /** SIGSTOP: its connections stay open, without answers. Resolves when all its threads have stopped. */
  async suspend(): Promise<void> {
    process.kill(-this.pid, "SIGSTOP");
    const tasks = `/proc/${this.pid}/task`;
    const isStopped = (task: string): boolean =>
      /^State:\s+T/m.test(readFileSync(`${tasks}/${task}/status`, "utf8"));
    while (!readdirSync(tasks).every(isStopped)) await delay(1);
  }

  resume(): void {
    process.kill(-this.pid, "SIGCONT");
  }

  get rssBytes(): number {
    return rssBytes(this.pid);
  }

  /** The end of the log, to append to an error message. */
  describeLog(): string {
    const tail = readFileSync(this.logFile, { encoding: "utf8", flag: "a+" }).slice(-4_000);
    return `; the end of ${this.name}'s log:\n${tail}`;
  }
}
