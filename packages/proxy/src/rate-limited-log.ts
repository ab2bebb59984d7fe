import type { Clock, Logger } from "@bunting/runtime";

const intervalMs = 60_000;

/** Warnings that peers can cause as often as they like: each kind is logged at most once a minute, with the number left out since. */
export class RateLimitedLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, { loggedMs: number; suppressed: number }>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** @param kind one of a closed set: each is remembered. */
  warn(kind: string, fields: Readonly<Record<string, unknown>>, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#kinds.get(kind);
    if (last !== undefined && nowMs - last.loggedMs < intervalMs) {
      last.suppressed++;
      return;
    }
    this.#kinds.set(kind, { loggedMs: nowMs, suppressed: 0 });
    this.#logger.warn({ ...fields, suppressedSinceLast: last?.suppressed ?? 0 }, message);
  }
}
