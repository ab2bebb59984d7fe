import type { Clock } from "@bunting/runtime";
import type { proxyMetrics } from "../../proxy-metrics.js";
import { ConvergenceHistory } from "./convergence-history.js";
import { EventTally } from "./event-tally.js";

type Metrics = ReturnType<typeof proxyMetrics>;

/** What the status page shows of the past, as the metrics tell it, in a fixed amount of memory. */
export class StatusObservations {
  readonly history: ConvergenceHistory;
  readonly tally: EventTally;
  readonly #metrics: Metrics;
  #isCluster = false;

  /** @param nowMs ms since the epoch; it does not go backwards */
  constructor(metrics: Metrics, nowMs: () => number) {
    this.history = new ConvergenceHistory(nowMs);
    this.tally = new EventTally(nowMs);
    this.#metrics = metrics;
    metrics.snapshotPublished.listen(() => this.history.published());
    metrics.converged.listen((share, ms) => this.history.converged(share, ms));
    metrics.watchCounts.listen(() => (this.#isCluster = true));
    this.#listenToLimits(metrics);
    const count = (group: string, kind: string): void => this.tally.count(group, kind);
    metrics.relisted.listen((reason) => count("relist", reason));
    metrics.watchEvent.listen((type) => count("event", type));
    metrics.sourceError.listen((kind) => count("error", kind));
    metrics.documentInvalid.listen((reason) => count("error", `invalid/${reason}`));
  }

  get held(): number {
    return this.#metrics.heldSubscribers.read();
  }

  get queued(): number {
    return this.#metrics.queuedStarts.read();
  }

  get agentSubscriptions(): number {
    return this.#metrics.agentSubscriptions.read();
  }

  /** True if the source watches a cluster. */
  get isCluster(): boolean {
    return this.#isCluster;
  }

  #listenToLimits(metrics: Metrics): void {
    const hit = (what: string): void => this.tally.count("limit", what);
    metrics.queuedStarts.listen((delta) => {
      if (delta > 0) hit("queued");
    });
    metrics.refused.listen((reason) => hit(`refused/${reason}`));
    metrics.connectionEnded.listen((reason) => hit(`ended/${reason}`));
    metrics.requestRefused.listen((reason) => {
      // It has a line of its own.
      if (reason !== "stalled") hit(`request/${reason}`);
    });
    metrics.stalled.listen(() => hit("stalled"));
    metrics.streamLimitReached.listen(() => hit("streams"));
    metrics.callDelayed.listen(() => hit("calls_delayed"));
    metrics.ackTimedOut.listen(() => hit("ack_timeout"));
  }
}

/** Ms since the epoch that never go backwards, so that ages are right even if the system's time is set. */
export function steadyNow(clock: Clock): { nowMs: () => number; fromMonotonic: (ms: number) => number } {
  const offsetMs = clock.now() - clock.monotonicMs();
  return {
    nowMs: () => Math.round(offsetMs + clock.monotonicMs()),
    fromMonotonic: (ms) => Math.round(offsetMs + ms),
  };
}
