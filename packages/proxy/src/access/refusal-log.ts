import type { Clock, RateLimitedLog } from "@bunting/runtime";

const intervalMs = 60_000;
const maxRemembered = 1_000;
const linesPerMinute = 20;

export interface Refusal {
  /** One of a closed set. */
  readonly reason: string;
  /** The refused caller: a proven ServiceAccount, otherwise an address. */
  readonly who: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** The audit log: one line a minute for each refused caller and reason, and at most 20 a minute for each reason. */
export function refusalLog(clock: Clock, log: RateLimitedLog): (refusal: Refusal) => void {
  /** When each caller and reason was logged last, the longest ago first. */
  const lastLoggedMs = new Map<string, number>();
  return ({ reason, who, fields, message }) => {
    const key = `${reason} ${who}`;
    const nowMs = clock.monotonicMs();
    const loggedMs = lastLoggedMs.get(key);
    if (loggedMs !== undefined && nowMs - loggedMs < intervalMs) return;
    lastLoggedMs.delete(key);
    lastLoggedMs.set(key, nowMs);
    if (lastLoggedMs.size > maxRemembered) {
      const [oldest = ""] = lastLoggedMs.keys();
      lastLoggedMs.delete(oldest);
    }
    log.warn(`access ${reason}`, { reason, ...fields }, message, linesPerMinute);
  };
}
