import type { Clock } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

/**
 * Measures, once a version, how long it took from the source's notice of a change to its having been written to the last of the
 * subscribers there were. A version that a newer one overtakes before that is not measured: nobody will be at it.
 */
export class Propagation {
  readonly #clock: Clock;
  readonly #metrics: ProxyMetrics;
  #noticedMs = 0;
  /** Subscribers that were there when the version was published and have not written it yet. */
  #behind = 0;
  #lastCaughtUpMs: number | undefined;

  constructor(clock: Clock, metrics: ProxyMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** A version was published to so many subscribers. */
  begin(noticedMs: number, subscribers: number): void {
    this.#noticedMs = noticedMs;
    this.#behind = subscribers;
    this.#lastCaughtUpMs = undefined;
  }

  /** One of them has written it. */
  caughtUp(): void {
    this.#lastCaughtUpMs = this.#clock.monotonicMs();
    this.leave();
  }

  /** One of them is gone and will not write it. */
  leave(): void {
    this.#behind--;
    if (this.#behind > 0 || this.#lastCaughtUpMs === undefined) return;
    this.#metrics.propagated(this.#lastCaughtUpMs - this.#noticedMs);
  }

  /** All of them are gone. */
  abandon(): void {
    this.#behind = 0;
  }
}
