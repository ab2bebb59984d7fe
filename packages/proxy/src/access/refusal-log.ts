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
export class RefusalLog {
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  /** When each caller and reason was logged last, the longest ago first. */
  readonly #loggedMs = new Map<string, number>();

  constructor(clock: Clock, log: RateLimitedLog) {
    this.#clock = clock;
    this.#log = log;
  }

  refused({ reason, who, fields, message }: Refusal): void {
    const key = `${reason} ${who}`;
    const nowMs = this.#clock.monotonicMs();
    const loggedMs = this.#loggedMs.get(key);
    if (loggedMs !== undefined && nowMs - loggedMs < intervalMs) return;
    this.#loggedMs.delete(key);
    this.#loggedMs.set(key, nowMs);
    if (this.#loggedMs.size > maxRemembered) {
      const [oldest = ""] = this.#loggedMs.keys();
      this.#loggedMs.delete(oldest);
    }
    this.#log.warn(`access ${reason}`, { reason, ...fields }, message, linesPerMinute);
  }
}
