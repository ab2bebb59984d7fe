import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * One of our binaries as a process of its own. It is spawned detached, because Ctrl-C would reach it directly as well, and a service that
 * receives a second signal skips its drain. `stop` sends exactly one.
 */
export class ServiceProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #isStopping = false;

  constructor(
    name: string,
    nodeArgs: readonly string[],
    onUnexpectedEnd: (name: string, code: number | null) => void,
  ) {
    this.name = name;
    this.#child = spawn(process.execPath, nodeArgs, { detached: true, stdio: ["ignore", "ignore", "pipe"] });
    if (this.#child.stderr !== null) {
      createInterface(this.#child.stderr).on("line", (line) => process.stdout.write(`  [${name}] ${line}\n`));
    }
    // When the demonstration dies of an error, as when its output is piped to a `head` that has read enough, nothing else would end it.
    const endToo = (): void => void this.#child.kill("SIGTERM");
    process.once("exit", endToo);
    this.#ended = new Promise((resolve) => {
      this.#child.once("exit", (code) => {
        process.removeListener("exit", endToo);
        if (!this.#isStopping) onUnexpectedEnd(name, code);
        resolve();
      });
    });
  }

  stop(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#child.kill("SIGTERM");
    }
    return this.#ended;
  }
}
