import { TokenBucket, type Rate, type Clock } from "@bunting/runtime";

/** A rate limit of new questions for each caller. Callers whose budget is full again take no memory. */
export class CallerBudgets {
  readonly #clock: Clock;
  readonly #rate: Rate;
  /** The least recently used first. */
  readonly #callers = new Map<string, { readonly bucket: TokenBucket; usedMs: number }>();

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes one question from the budget of a caller; false if the budget is used up. */
  take(caller: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetFull(nowMs);
    const budget = this.#callers.get(caller) ?? {
      bucket: new TokenBucket(this.#clock, this.#rate),
      usedMs: 0,
    };
    if (budget.bucket.waitMs > 0) return false;
    budget.bucket.take();
    budget.usedMs = nowMs;
    this.#callers.delete(caller);
    this.#callers.set(caller, budget);
    return true;
  }

  #forgetFull(nowMs: number): void {
    const fullAfterMs = (this.#rate.burst * 1_000) / this.#rate.perSecond;
    for (const [caller, { usedMs }] of this.#callers) {
      if (nowMs - usedMs < fullAfterMs) return;
      this.#callers.delete(caller);
    }
  }
}
