import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

export interface SyncClientsInput {
  readonly count: number;
  /** Address of a proxy; of several, the clients take turns. */
  readonly target: string | readonly string[];
  /** One for all, or several that the clients of each target are spread over. */
  readonly selector: string | readonly string[];
  /** The flag whose variant `v` is the version of the document. */
  readonly flag: string;
}

/** The state of one client. */
export interface ClientReport {
  /** The version it holds; 0 if none. */
  last: number;
  updates: number;
  /** Each pair of versions in which the older arrived later. */
  backwards: [held: number, came: number][];
  /**
   * The longest time, in ms, for which it was without the edit after the one that it held, plus what lies between two edits. Only for documents
   * that say when they were edited, in the variant `at` of the flag; since `measure` or the start.
   */
  behindMs: number;
}

/** Many of the agent's sync clients in one child process. */
export class SyncClients {
  readonly #child: ChildProcess;

  constructor(input: SyncClientsInput) {
    const script = path.join(import.meta.dirname, "sync-clients.child.ts");
    this.#child = fork(script, [JSON.stringify(input)], {
      execArgv: ["--conditions=@bunting/source", "--import=tsx"],
      env: { PATH: process.env["PATH"] },
    });
  }

  async report(): Promise<ClientReport[]> {
    this.#child.send("report");
    const [reports] = (await once(this.#child, "message")) as [ClientReport[]];
    return reports;
  }

  /** Begins to measure `behindMs` anew, from what the clients hold. */
  measure(): void {
    this.#child.send("measure");
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.send("stop");
    await exited;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
