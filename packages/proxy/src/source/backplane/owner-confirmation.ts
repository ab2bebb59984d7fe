import type { ReplicatedShared } from "./replicated-shared.js";

/**
 * Validity of an owner's confirmation of a topic, on the monotonic clock of this replica.
 *
 * A confirmation is valid only if it was given after this replica asked for the topic. An earlier one proves nothing: its
 * owner may be gone by now, and so may the API server. A live owner confirms again when it is asked.
 */
export class OwnerConfirmation {
  readonly #shared: Pick<ReplicatedShared<unknown>, "context" | "times">;
  #untilMs = 0;
  /** Confirmations given before this time are not valid. */
  #notBeforeMs = 0;
  #isConfirmed = false;

  constructor(shared: Pick<ReplicatedShared<unknown>, "context" | "times">) {
    this.#shared = shared;
  }

  /** An owner has confirmed the topic, or its time to answer is not over yet. */
  get isFresh(): boolean {
    return this.#nowMs < this.#untilMs;
  }

  /** An owner has confirmed the topic, and the confirmation is still valid. */
  get isConfirmed(): boolean {
    return this.#isConfirmed && this.isFresh;
  }

  /** This replica asks the owner, which has `answerMs` to answer. */
  asked(): void {
    this.#untilMs = this.#nowMs + this.#shared.times.answerMs;
    this.#notBeforeMs = this.#nowMs - roundingMs;
    this.#isConfirmed = false;
  }

  /** Ends the validity of all confirmations so far, because this replica may have given them itself. */
  invalidateConfirmation(): void {
    this.#notBeforeMs = this.#nowMs;
    this.expire();
  }

  /** Ends the validity of the present confirmation; the same one is accepted again if it is read again. */
  expire(): void {
    this.#untilMs = 0;
  }

  /** True if a confirmation of this age is valid. */
  counts(agoMs: number): boolean {
    return agoMs >= 0 && agoMs < this.#shared.times.freshMs && this.#nowMs - agoMs >= this.#notBeforeMs;
  }

  /** Takes an owner's confirmation of this age. Returns whether it is valid. */
  confirmed(agoMs: number): boolean {
    if (!this.counts(agoMs)) return false;
    this.#untilMs = Math.max(this.#untilMs, this.#nowMs - agoMs + this.#shared.times.freshMs);
    this.#isConfirmed = true;
    return true;
  }

  get #nowMs(): number {
    return this.#shared.context.clock.monotonicMs();
  }
}

/** Error of an age: Redis gives times in whole ms. */
const roundingMs = 1;
