import { TokenBucket, type Rate } from "@bunting/runtime";
import type { Clock } from "@bunting/runtime";

/** How many new questions each asker may ask. Askers whose budget is full again take no memory. */
export class AskerBudgets {
  readonly #clock: Clock;
  readonly #rate: Rate;
  /** The one that asked last comes last. */
  readonly #askers = new Map<string, { readonly bucket: TokenBucket; usedMs: number }>();

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes one question from the budget of an asker; false if nothing is left. */
  take(asker: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetFull(nowMs);
    const budget = this.#askers.get(asker) ?? { bucket: new TokenBucket(this.#clock, this.#rate), usedMs: 0 };
    if (budget.bucket.waitMs > 0) return false;
    budget.bucket.take();
    budget.usedMs = nowMs;
    this.#askers.delete(asker);
    this.#askers.set(asker, budget);
    return true;
  }

  #forgetFull(nowMs: number): void {
    const fullAfterMs = (this.#rate.burst * 1_000) / this.#rate.perSecond;
    for (const [asker, { usedMs }] of this.#askers) {
      if (nowMs - usedMs < fullAfterMs) return;
      this.#askers.delete(asker);
    }
  }
}
