import type { Clock, WorkResult } from "@bunting/runtime";

/** The shortest time between two turns, in ms. */
const pauseMs = 1_000;
/** How many times as long as its turn a key waits for the next one. */
const restFactor = 4;
/** It waits no longer, in ms. */
const maxPauseMs = 30_000;

/**
 * Lets work for a key have a worker once in a second, and a fifth of the time at most: whoever writes objects of one namespace all the time, or makes much work
 * with each, must not take the workers from others.
 */
export class Turns {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By key: when it has its next turn. Who is not in it may have one now. */
  readonly #nextMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Does the work, if it is the key's turn.
   *
   * @param work resolves with whether all of it is done
   * @returns when the key has to come back, if it has to
   */
  async take(key: string, work: () => Promise<boolean>): Promise<WorkResult | undefined> {
    const beganMs = this.#clock.monotonicMs();
    const leftMs = (this.#nextMs.get(key) ?? 0) - beganMs;
    if (leftMs > 0) return { requeueAfterMs: leftMs, isPutOff: true };
    try {
      if (await work()) return undefined;
    } finally {
      this.#rest(key, this.#clock.monotonicMs() - beganMs);
    }
    return { requeueAfterMs: pauseMs };
  }

  #rest(key: string, tookMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [other, nextMs] of this.#nextMs)
      if (nextMs <= nowMs) this.#nextMs.delete(other);
      else break;
    this.#nextMs.delete(key);
    this.#nextMs.set(key, nowMs + Math.min(Math.max(pauseMs, restFactor * tookMs), maxPauseMs));
  }
}
