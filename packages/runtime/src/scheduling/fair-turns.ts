import { FairQueue } from "./fair-queue.js";

/** Runs tasks one at a time. Keys take turns, so that one with a thousand tasks delays another's by one of them. */
export class FairTurns {
  readonly #waiting = new FairQueue<() => void>();
  #isTaken = false;

  async run<Result>(key: unknown, task: () => Promise<Result>): Promise<Result> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.add(key, resolve));
    this.#isTaken = true;
    try {
      return await task();
    } finally {
      this.#pass();
    }
  }

  /** The turn goes straight to the next one without becoming free. */
  #pass(): void {
    const [next] = this.#waiting.heads();
    if (next === undefined) {
      this.#isTaken = false;
      return;
    }
    const [key, begin] = next;
    this.#waiting.delete(key, begin);
    this.#waiting.moveToBack(key);
    begin();
  }
}
