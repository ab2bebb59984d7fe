import type { Clock } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

/** Shares of the subscribers for which the time is measured until they have a version. */
const convergenceShares = [0.5, 0.99, 1] as const;
export type ConvergenceShare = (typeof convergenceShares)[number];

/** Progress of a topic's newest version among its subscribers. */
export type ConvergenceState = Pick<Convergence, "arrived" | "behind" | "afterMs">;

/**
 * Measures for each version the time from the source's notice of the change until half, 99 % and all of the subscribers at
 * its publication have it. Subscribers that leave are not counted. A newer version ends the measurement. A document that
 * the source knew before the topic began, as a directory does, counts from the topic's beginning.
 */
export class Convergence {
  readonly #clock: Clock;
  readonly #metrics: ProxyMetrics;
  readonly #onConverged: (state: ConvergenceState) => void;
  readonly #afterMs = new Map<ConvergenceShare, number>();
  readonly #beganMs: number;
  #noticedMs = 0;
  #arrived = 0;
  #behind = 0;
  #lastArrivalMs = 0;

  /** @param onConverged called once for each version that reaches all remaining subscribers */
  constructor(
    clock: Clock,
    metrics: ProxyMetrics,
    onConverged: (state: ConvergenceState) => void = () => undefined,
  ) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#onConverged = onConverged;
    this.#beganMs = clock.monotonicMs();
  }

  /** Subscribers at the publication that have the version: acknowledged if the protocol has acks, otherwise written. */
  get arrived(): number {
    return this.#arrived;
  }

  /** Subscribers at the publication that do not have it yet. */
  get behind(): number {
    return this.#behind;
  }

  /** Time in ms from the source's notice of the change until each share had it, as far as reached. */
  get afterMs(): ReadonlyMap<ConvergenceShare, number> {
    return this.#afterMs;
  }

  /** A version was published to this number of subscribers. */
  begin(noticedMs: number, subscribers: number): void {
    this.#noticedMs = Math.max(noticedMs, this.#beganMs);
    this.#arrived = 0;
    this.#behind = subscribers;
    this.#afterMs.clear();
  }

  /** A subscriber has received the version. */
  caughtUp(): void {
    this.#arrived++;
    this.#behind--;
    this.#lastArrivalMs = this.#clock.monotonicMs();
    this.#reach();
  }

  /** A subscriber left without the version. */
  leave(): void {
    // Measuring the version was abandoned.
    if (this.#behind === 0) return;
    this.#behind--;
    this.#reach();
  }

  /** The version will not reach the remaining subscribers. */
  abandon(): void {
    this.#behind = 0;
  }

  /** Called for each of 10,000 subscribers of a version: does nothing unless a share is reached. */
  #reach(): void {
    if (this.#arrived === 0) return;
    for (let next = this.#afterMs.size; next < convergenceShares.length; next++) {
      const share = convergenceShares[next] ?? 1;
      if (this.#arrived < share * (this.#arrived + this.#behind)) return;
      const afterMs = this.#lastArrivalMs - this.#noticedMs;
      this.#afterMs.set(share, afterMs);
      this.#metrics.converged(share, afterMs);
      if (share === 1) this.#onConverged(this);
    }
  }
}
