import type { Clock } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

/** The parts of the subscribers whose arrival at a version is timed. */
export const convergenceShares = [0.5, 0.99, 1] as const;
export type ConvergenceShare = (typeof convergenceShares)[number];

/** How far a topic's newest version has got. */
export interface ConvergenceState {
  /** Subscribers that were there when it was published and have it: acknowledged where the protocol can, else written. */
  readonly arrived: number;
  /** Those that were there and do not have it yet. */
  readonly behind: number;
  /** ms from the source's notice of the change until so many of them had it, as far as they do. */
  readonly afterMs: ReadonlyMap<ConvergenceShare, number>;
}

/**
 * Measures, once a version, how long it took from the source's notice of a change until half, 99 % and all of the subscribers there were
 * had it. Who leaves does not count; nor does a version, from there on, that a newer one overtakes.
 */
export class Convergence implements ConvergenceState {
  readonly #clock: Clock;
  readonly #metrics: ProxyMetrics;
  readonly #onConverged: (state: ConvergenceState) => void;
  readonly #afterMs = new Map<ConvergenceShare, number>();
  #noticedMs = 0;
  #arrived = 0;
  #behind = 0;
  #lastArrivalMs = 0;

  /** @param onConverged called once a version, when all who are left have it. */
  constructor(
    clock: Clock,
    metrics: ProxyMetrics,
    onConverged: (state: ConvergenceState) => void = () => undefined,
  ) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#onConverged = onConverged;
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

  /** A version was published to so many subscribers. */
  begin(noticedMs: number, subscribers: number): void {
    this.#noticedMs = noticedMs;
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

  /** One of them is gone and will not have it. */
  leave(): void {
    this.#behind--;
    this.#reach();
  }

  /** All of them are gone. */
  abandon(): void {
    this.#behind = 0;
  }

  /** Called for each of 10,000 subscribers of a version: nothing is done unless a share is reached. */
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
