import { sleep, type Clock } from "@bunting/runtime";

/** A merge, and a message to each subscriber, follow each version: a remote that changes without end is followed once in so long. */
const versionMs = 1_000;

/** Says when the next version of a remote may be taken: at once, unless it is the second one within a second. */
export class VersionPace {
  readonly #clock: Clock;
  #nextMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it may, or the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    const waitMs = this.#nextMs - this.#clock.monotonicMs();
    if (waitMs > 0) await sleep(waitMs, signal, this.#clock);
    this.#nextMs = this.#clock.monotonicMs() + versionMs;
  }
}
