import type { DropReason } from "@bunting/rpc";
import type { Clock, Logger } from "@bunting/runtime";
import type { ApiMetrics } from "../api/api-metrics.js";

/** Peers can cause it as often as they like. */
const logIntervalMs = 60_000;

const messages: Partial<Record<DropReason, string>> = {
  memory:
    "ended or refused a connection: applications hold as much memory as --peer-memory allows, or a few of them hold more than their share of it",
  headers: "refused a request, because its headers are larger than --max-request-header",
};

/** Counts the connections that limits end, and logs each reason at most once a minute. */
export function endedConnections(options: {
  readonly metrics: ApiMetrics;
  readonly logger: Pick<Logger, "warn">;
  readonly clock: Clock;
}): (reason: DropReason) => void {
  const { metrics, logger, clock } = options;
  const loggedMs = new Map<DropReason, number>();
  return (reason) => {
    metrics.connectionEnded(reason);
    const nowMs = clock.monotonicMs();
    if (nowMs - (loggedMs.get(reason) ?? -Infinity) < logIntervalMs) return;
    loggedMs.set(reason, nowMs);
    logger.warn({ reason }, messages[reason] ?? "ended a connection");
  };
}
