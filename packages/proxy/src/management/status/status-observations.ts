import type { ServerMetrics } from "@bunting/server";
import type { Clock } from "@bunting/runtime";
import type { ProxyMetrics } from "../../proxy-metrics.js";
import { ConvergenceHistory } from "./convergence-history.js";
import { EventTally } from "./event-tally.js";

/** Past events for the status page, taken from the metrics' calls and kept in a fixed amount of memory. */
export class StatusObservations {
  readonly history: ConvergenceHistory;
  readonly tally: EventTally;
  /** Gauges. */
  #held = 0;
  #queued = 0;
  #agentSubscriptions = 0;
  #isCluster = false;

  /** @param nowMs ms since the epoch; it does not go backwards */
  constructor(nowMs: () => number) {
    this.history = new ConvergenceHistory(nowMs);
    this.tally = new EventTally(nowMs);
  }

  get held(): number {
    return this.#held;
  }

  get queued(): number {
    return this.#queued;
  }

  get agentSubscriptions(): number {
    return this.#agentSubscriptions;
  }

  /** True if the source watches a cluster. */
  get isCluster(): boolean {
    return this.#isCluster;
  }

  /** These metrics, which this reads along from now on. */
  observe<Metrics extends ProxyMetrics & ServerMetrics>(metrics: Metrics): Metrics {
    const { history } = this;
    const count = (group: string, kind: string): void => this.tally.count(group, kind);
    return {
      ...metrics,
      snapshotPublished: (bytes) => {
        history.published();
        metrics.snapshotPublished(bytes);
      },
      converged: (share, ms) => {
        history.converged(share, ms);
        metrics.converged(share, ms);
      },
      heldSubscribers: (delta) => {
        this.#held += delta;
        metrics.heldSubscribers(delta);
      },
      queuedStarts: (delta) => {
        this.#queued += delta;
        if (delta > 0) count("limit", "queued");
        metrics.queuedStarts(delta);
      },
      agentSubscriptions: (delta) => {
        this.#agentSubscriptions += delta;
        metrics.agentSubscriptions(delta);
      },
      refused: (reason) => {
        count("limit", `refused/${reason}`);
        metrics.refused(reason);
      },
      connectionEnded: (reason) => {
        count("limit", `ended/${reason}`);
        metrics.connectionEnded(reason);
      },
      requestRefused: (reason) => {
        // It has a line of its own.
        if (reason !== "stalled") count("limit", `request/${reason}`);
        metrics.requestRefused(reason);
      },
      stalled: () => {
        count("limit", "stalled");
        metrics.stalled();
      },
      streamLimitReached: () => {
        count("limit", "streams");
        metrics.streamLimitReached();
      },
      callDelayed: () => {
        count("limit", "calls_delayed");
        metrics.callDelayed();
      },
      ackTimedOut: () => {
        count("limit", "ack_timeout");
        metrics.ackTimedOut();
      },
      relisted: (reason) => {
        count("relist", reason);
        metrics.relisted(reason);
      },
      watchEvent: (type) => {
        count("event", type);
        metrics.watchEvent(type);
      },
      sourceError: (kind) => {
        count("error", kind);
        metrics.sourceError(kind);
      },
      watchCounts: (read) => {
        this.#isCluster = true;
        metrics.watchCounts(read);
      },
      documentInvalid: (reason) => {
        count("error", `invalid/${reason}`);
        metrics.documentInvalid(reason);
      },
    };
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
