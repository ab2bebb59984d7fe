/** Fewer seconds are not worth a line. */
const slowSeconds = 10;
const mostLines = 15;

/** How long each file of tests took, hooks included: the time since the test before it ended. */
export class FileTimes {
  readonly #ms = new Map<string, number>();
  readonly #now: () => number;
  #sinceMs: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#sinceMs = now();
  }

  /** To be called when a test of the file has ended. */
  ended(file: string): void {
    const nowMs = this.#now();
    this.#ms.set(file, (this.#ms.get(file) ?? 0) + nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
  }

  /** In seconds, by file. */
  seconds(): Map<string, number> {
    return new Map([...this.#ms].map(([file, ms]) => [file, ms / 1_000]));
  }
}

/** The slowest files, each with its seconds; none if all were fast. */
export function slowestFiles(times: ReadonlyMap<string, number>): string[] {
  return [...times]
    .map(([file, seconds]) => ({ file, seconds: Math.round(seconds) }))
    .filter(({ seconds }) => seconds >= slowSeconds)
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, mostLines)
    .map(({ file, seconds }) => `${String(seconds).padStart(5)} s ${file}`);
}
