import type { Clock, Logger } from "@bunting/runtime";

const intervalMs = 60_000;

/** The lines of one kind since the last interval began. */
interface Interval {
  readonly sinceMs: number;
  logged: number;
  suppressed: number;
}

/**
 * Warnings that peers can cause as often as they like: each kind is logged a few times a minute, once unless it says otherwise, with the
 * number left out since.
 */
export class RateLimitedLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Interval>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /**
   * @param kind one of a closed set: each is remembered.
   * @param perMinute how many lines of this kind are logged a minute
   */
  warn(kind: string, fields: Readonly<Record<string, unknown>>, message: string, perMinute = 1): void {
    const nowMs = this.#clock.monotonicMs();
    let interval = this.#kinds.get(kind);
    const suppressedSinceLast = interval?.suppressed ?? 0;
    if (interval === undefined || nowMs - interval.sinceMs >= intervalMs) {
      interval = { sinceMs: nowMs, logged: 0, suppressed: 0 };
      this.#kinds.set(kind, interval);
    } else if (interval.logged >= perMinute) {
      interval.suppressed++;
      return;
    }
    interval.logged++;
    this.#logger.warn({ ...fields, suppressedSinceLast }, message);
  }
}
