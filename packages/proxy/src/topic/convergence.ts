import type { Clock } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

/** Shares of the subscribers; for each, the time is measured until so many have a version. */
const convergenceShares = [0.5, 0.99, 1] as const;
export type ConvergenceShare = (typeof convergenceShares)[number];

/** How many subscribers a topic's newest version has reached. */
export interface ConvergenceState {
  /** Of the subscribers at its publication, those that have it: acknowledged if the protocol has acks, else written. */
  readonly arrived: number;
  /** Those that do not have it yet. */
  readonly behind: number;
  /** ms from the source's notice of the change until so many of them had it, as far as they do. */
  readonly afterMs: ReadonlyMap<ConvergenceShare, number>;
}

/**
 * Measures for each version how long it took from when the source noticed the change until half, 99 % and all of the subscribers at its
 * publication had it. Subscribers that leave do not count. The measurement of a version stops when a newer one is published. What a source
 * has known since before there was a subscriber, as a directory does, counts from when the topic began: nobody waited for it until then.
 */
export class Convergence implements ConvergenceState {
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

  get arrived(): number {
    return this.#arrived;
  }

  get behind(): number {
    return this.#behind;
  }

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

  /** One of them has it. */
  caughtUp(): void {
    this.#arrived++;
    this.#behind--;
    this.#lastArrivalMs = this.#clock.monotonicMs();
    this.#reach();
  }

  /** One of them left without it. */
  leave(): void {
    // The version was abandoned.
    if (this.#behind === 0) return;
    this.#behind--;
    this.#reach();
  }

  /** It will not reach those that do not have it yet. */
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
