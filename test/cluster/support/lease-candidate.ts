import { spawn, type ChildProcess } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { EventQueue } from "../../support/event-queue.js";

const script = path.join(import.meta.dirname, "lease-candidate.child.ts");

/** A lease lapses after 15 s, and a busy machine takes as long to start a process. */
const patienceMs = 60_000;

/** A process that takes part in a leader election. Every test must await `stop` or `kill`. */
export class LeaseCandidate {
  readonly identity: string;
  readonly #child: ChildProcess;
  readonly #said = new EventQueue<string>();
  readonly #exit: Promise<number | null>;

  constructor(
    kubeconfig: string,
    lease: { readonly namespace: string; readonly name: string },
    identity: string,
  ) {
    this.identity = identity;
    const node = ["--conditions=@bunting/source", "--import=tsx"];
    const args = [kubeconfig, lease.namespace, lease.name, identity];
    this.#child = spawn(process.execPath, [...node, script, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (this.#child.stdout !== null) {
      createInterface(this.#child.stdout).on("line", (line) => this.#said.push(line));
    }
    this.#exit = new Promise((resolve) => this.#child.once("close", resolve));
  }

  async expectNext(said: "leads" | "leads no longer"): Promise<void> {
    const next = await this.#said.nextEvent(`${this.identity} ${said}`, patienceMs);
    if (next !== said) throw new Error(`${this.identity} said "${next}" and not "${said}"`);
  }

  /** True if it has said nothing since. */
  get isQuiet(): boolean {
    return this.#said.size === 0;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Resolves with the exit code, after a clean stop. */
  stop(): Promise<number | null> {
    this.#child.kill("SIGCONT");
    this.#child.kill("SIGTERM");
    return this.#exit;
  }
}
