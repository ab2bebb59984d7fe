import { fstatSync, writeSync } from "node:fs";

/** The most that waits for the reader of a pipe: beyond it, lines are lost. */
const maxUnreadBytes = 256 * 1_024;
const stderr = 2;

/**
 * Stderr as the place of a log. Nobody may read it, and the disk that it goes to may be full: a service loses lines then, and neither waits nor ends.
 * What can be written is written at once, so that the last words of a process that fails are there.
 */
export class LogOutput {
  readonly #put: (line: string) => boolean;
  readonly #onLost: (lines: number) => void;
  #lost = 0;

  /** @param onLost called once lines can be written again, with the number of those that were lost */
  constructor(onLost: (lines: number) => void) {
    const stats = fstatSync(stderr);
    this.#put = stats.isFIFO() || stats.isSocket() ? putIntoPipe() : putIntoFile;
    this.#onLost = onLost;
  }

  write(line: string): void {
    const isWritten = this.#put(line);
    if (!isWritten) this.#lost++;
    else if (this.#lost > 0) this.#tell();
  }

  #tell(): void {
    const lost = this.#lost;
    this.#lost = 0;
    this.#onLost(lost);
    // What tells of it may be lost as well.
    if (this.#lost > 0) this.#lost += lost;
  }
}

/** Node's stream does not block in a write to a full pipe, as writeSync does, but keeps all that it is given. */
function putIntoPipe(): (line: string) => boolean {
  const stream = process.stderr;
  // The reader has gone: a service goes on without.
  stream.on("error", () => undefined);
  return (line) => {
    if (stream.writableLength + line.length > maxUnreadBytes) return false;
    stream.write(line);
    return true;
  };
}

function putIntoFile(line: string): boolean {
  try {
    writeSync(stderr, line);
    return true;
  } catch {
    return false;
  }
}
