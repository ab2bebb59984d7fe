import { FairQueue } from "./fair-queue.js";

/**
 * Runs so many tasks at a time, and one of a key. Keys take turns, so that one with a thousand tasks delays another's by one of them, and not at all
 * while there is a place more than such keys.
 */
export class FairTurns {
  readonly #places: number;
  readonly #waiting = new FairQueue<() => void>();
  readonly #running = new Set<unknown>();

  constructor(places = 1) {
    this.#places = places;
  }

  async run<Result>(key: unknown, task: () => Promise<Result>): Promise<Result> {
    if (this.#running.size < this.#places && !this.#running.has(key)) this.#running.add(key);
    else await new Promise<void>((resolve) => this.#waiting.add(key, resolve));
    try {
      return await task();
    } finally {
      this.#pass(key);
    }
  }

  /** The place goes straight to the next one without becoming free. */
  #pass(done: unknown): void {
    this.#running.delete(done);
    for (const [key, begin] of this.#waiting.heads()) {
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key, begin);
      this.#waiting.moveToBack(key);
      this.#running.add(key);
      begin();
      return;
    }
  }
}
