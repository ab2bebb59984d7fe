import { TokenBucket, type Rate, type Clock } from "@bunting/runtime";

/**
 * A rate limit of new questions for each caller: takes one question from the budget of a caller, and is false if that is used up. Callers whose budget
 * is full again take no memory.
 */
export function callerBudgets(clock: Clock, rate: Rate): (caller: string) => boolean {
  /** The least recently used first. */
  const callers = new Map<string, { readonly bucket: TokenBucket; usedMs: number }>();
  const fullAfterMs = (rate.burst * 1_000) / rate.perSecond;
  return (caller) => {
    const nowMs = clock.monotonicMs();
    for (const [each, { usedMs }] of callers) {
      if (nowMs - usedMs < fullAfterMs) break;
      callers.delete(each);
    }
    const budget = callers.get(caller) ?? { bucket: new TokenBucket(clock, rate), usedMs: 0 };
    if (budget.bucket.waitMs > 0) return false;
    budget.bucket.take();
    budget.usedMs = nowMs;
    callers.delete(caller);
    callers.set(caller, budget);
    return true;
  };
}
