/** A process that a test has started. */
export interface SpeakingProcess {
  readonly pid: number;
  readonly hasEnded: boolean;
  /** All that it has said so far, in lines. */
  readonly output: string;
}

const mostLines = 40;
const mostCharacters = 400;

/** What processes say, for who reads of a test that has failed. */
export class LastWords {
  readonly #processes = new Map<SpeakingProcess, string>();

  /** @param name for readers */
  add(process: SpeakingProcess, name: string): void {
    this.#processes.set(process, name);
  }

  /** The last lines of each process that has run since `forgetEnded` was called. */
  said(): string {
    const said = Array.from(this.#processes, ([{ pid, output }, name]) => {
      const lines = output.split("\n").filter((line) => line !== "");
      const last = lines.slice(-mostLines).map((line) => `  ${line.slice(0, mostCharacters)}`);
      return [`${name} (${pid}), ${last.length} of ${lines.length} lines:`, ...last].join("\n");
    });
    return said.join("\n");
  }

  /** To be called after each test. */
  forgetEnded(): void {
    for (const process of this.#processes.keys()) if (process.hasEnded) this.#processes.delete(process);
  }
}

/** Of the processes of this mocha. */
export const lastWords = new LastWords();
