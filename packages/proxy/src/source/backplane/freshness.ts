import type { ReplicatedShared } from "./replicated-shared.js";

/**
 * How long what an owner has confirmed of a topic counts, on the monotonic clock of this replica.
 *
 * Only what was confirmed after this replica asked for the topic counts: who confirmed it before may be gone by now, and all other replicas and
 * the API server with it. An owner that is there confirms it once more when it is asked.
 */
export class Freshness {
  readonly #shared: Pick<ReplicatedShared<unknown>, "clock" | "answerMs" | "freshMs">;
  #untilMs = 0;
  /** Confirmations from before this do not count. */
  #notBeforeMs = 0;
  #isConfirmed = false;

  constructor(shared: Pick<ReplicatedShared<unknown>, "clock" | "answerMs" | "freshMs">) {
    this.#shared = shared;
  }

  /** An owner is there, or may have no more than not answered yet. */
  get isFresh(): boolean {
    return this.#nowMs < this.#untilMs;
  }

  /** An owner has confirmed it, and that still counts. */
  get isConfirmed(): boolean {
    return this.#isConfirmed && this.isFresh;
  }

  /** This replica asks the owner, who has some time to answer. */
  asked(): void {
    this.#untilMs = this.#nowMs + this.#shared.answerMs;
    this.#notBeforeMs = this.#nowMs - roundingMs;
    this.#isConfirmed = false;
  }

  /** What was confirmed up to now does not count: it may have been this replica that confirmed it. */
  invalidateConfirmation(): void {
    this.#notBeforeMs = this.#nowMs;
    this.expire();
  }

  /** What counted ends to count; it counts again if it is read again. */
  expire(): void {
    this.#untilMs = 0;
  }

  /** Whether a confirmation from so long ago counts now. */
  counts(agoMs: number): boolean {
    return agoMs >= 0 && agoMs < this.#shared.freshMs && this.#nowMs - agoMs >= this.#notBeforeMs;
  }

  /** An owner confirmed so long ago what is known. Returns whether that counts. */
  confirmed(agoMs: number): boolean {
    if (!this.counts(agoMs)) return false;
    this.#untilMs = Math.max(this.#untilMs, this.#nowMs - agoMs + this.#shared.freshMs);
    this.#isConfirmed = true;
    return true;
  }

  get #nowMs(): number {
    return this.#shared.clock.monotonicMs();
  }
}

/** Redis gives times in whole ms, so an age may be this much too large. */
const roundingMs = 1;
