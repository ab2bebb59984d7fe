import type { DropReason } from "@bunting/server";
import { Counter, Gauge, type Registry } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

type LimitMetrics = Pick<
  ProxyMetrics,
  "stalled" | "queuedStarts" | "refused" | "connectionEnded" | "callsWaiting" | "callDelayed"
>;

const endedReasons = [
  "silent",
  "stalled",
  "flood",
  "protocol_error",
  "memory",
  "settings",
  "headers",
  "unfinished_headers",
  "tls",
  "certificate",
  "age",
] satisfies (DropReason | "age")[];

/** The metrics of streams and connections that are refused, ended or delayed by a limit. */
export function limitMetrics(registry: Registry): LimitMetrics {
  const registers = [registry];
  const stalled = new Counter({
    name: "bunting_proxy_subscriber_stalled_total",
    help: "Streams of any method that were reset because their peer took nothing of a message for --stall-timeout.",
    registers,
  });
  const queued = new Gauge({
    name: "bunting_proxy_subscriber_queued",
    help: "Streams that wait for their first snapshot (--first-snapshot-rate).",
    registers,
  });
  const refusals = new Counter({
    name: "bunting_proxy_service_refusals_total",
    help: "Subscriptions refused with UNAVAILABLE and a pushback, by the limit that was reached.",
    labelNames: ["reason"],
    registers,
  });
  const ended = new Counter({
    name: "bunting_proxy_service_connections_ended_total",
    help: "Connections ended by the proxy: silent (no answer to a PING), stalled (the peer read nothing at all for --stall-timeout), flood (of PING or SETTINGS frames), protocol_error (the peer violated HTTP/2), memory (held more than others, or new, while --peer-memory was used up), settings (not acknowledged), headers (too large, over HTTP/1.1), unfinished_headers (a header block of HTTP/2 did not end), tls (a handshake failed, or the peer spoke TLS to a port without, or plaintext to one with it), certificate (the client's has expired, or is no longer trusted), age (--max-connection-age).",
    labelNames: ["reason"],
    registers,
  });
  const callsWaiting = new Gauge({
    name: "bunting_proxy_service_calls_waiting",
    help: "Calls that have arrived and wait for their turn, because their connection makes many short ones.",
    registers,
  });
  const callsDelayed = new Counter({
    name: "bunting_proxy_service_calls_delayed_total",
    help: "Calls that had to wait for their turn, because their connection made many short ones; none is refused for that.",
    registers,
  });
  for (const reason of ["topics_per_connection", "topics_per_address"]) refusals.inc({ reason }, 0);
  for (const reason of endedReasons) ended.inc({ reason }, 0);
  return {
    stalled: () => stalled.inc(),
    queuedStarts: (delta) => queued.inc(delta),
    refused: (reason) => refusals.inc({ reason }),
    connectionEnded: (reason) => ended.inc({ reason }),
    callsWaiting: (delta) => callsWaiting.inc(delta),
    callDelayed: () => callsDelayed.inc(),
  };
}
