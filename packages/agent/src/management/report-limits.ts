import { refusals, type DropReason, type RefusalReason } from "@bunting/server";
import { RateLimitedLog, type Context } from "@bunting/runtime";
import type { ApiMetrics } from "../api/api-metrics.js";

const messages: Partial<Record<DropReason, string>> = {
  memory:
    "ended or refused a connection: applications hold as much memory as --peer-memory allows, or a few of them hold more than their share of it",
  headers: "refused a request, because its headers are larger than --max-request-header",
  unfinished_headers:
    "ended a connection over HTTP/2, because the headers of a request did not end within 10 s",
  tls: "ended a connection that has not become one with TLS, or must not (--server-cert-path)",
};

type Reporting = Context<ApiMetrics>;

/** Counts the requests that limits refuse, and logs each reason at most once a minute. */
export function refusedRequests({ metrics, logger, clock }: Reporting): (reason: RefusalReason) => void {
  const log = new RateLimitedLog(logger, clock);
  return (reason) => {
    metrics.requestRefused(reason);
    log.warn(reason, { reason }, `refused a request: ${refusals[reason]}`);
  };
}

/** Counts the connections that limits end, and logs each reason at most once a minute. */
export function endedConnections({
  metrics,
  logger,
  clock,
}: Reporting): (reason: DropReason, detail?: string) => void {
  const log = new RateLimitedLog(logger, clock);
  return (reason, detail) => {
    metrics.connectionEnded(reason);
    // That is ordinary: its client opens another when it has a request.
    if (reason === "idle") return;
    log.warn(reason, { reason, detail }, messages[reason] ?? "ended a connection");
  };
}
