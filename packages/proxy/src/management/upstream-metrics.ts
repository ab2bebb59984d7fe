import { Counter, Gauge, type Registry } from "@bunting/runtime";
import type { SourceMetrics } from "../source/source-metrics.js";

type UpstreamMetrics = Pick<SourceMetrics, "upstreamStreams" | "upstreamMessage" | "upstreamFailed">;

/** The metrics of streams from other proxies; all zero for other sources. */
export function upstreamMetrics(registry: Registry): UpstreamMetrics {
  const registers = [registry];
  const streams = new Gauge({
    name: "bunting_proxy_upstream_streams",
    help: "Open streams from other proxies that feed this one.",
    registers,
  });
  const messages = new Counter({
    name: "bunting_proxy_upstream_messages_total",
    help: "Messages from other proxies, by kind: unchanged, delta, snapshot, missing, deleted, topic_error, tier, freshness, history, heartbeat or unknown.",
    labelNames: ["kind"],
    registers,
  });
  const bytes = new Counter({
    name: "bunting_proxy_upstream_received_bytes_total",
    help: "Bytes of the messages from other proxies, by kind.",
    labelNames: ["kind"],
    registers,
  });
  const failures = new Counter({
    name: "bunting_proxy_upstream_failures_total",
    help: "Streams from other proxies that ended or could not be opened, by reason: loop, depth, silent, token, certificate, a status of gRPC and others.",
    labelNames: ["reason"],
    registers,
  });
  return {
    upstreamStreams: (delta) => streams.inc(delta),
    upstreamMessage: (kind, length) => {
      messages.inc({ kind });
      bytes.inc({ kind }, length);
    },
    upstreamFailed: (reason) => failures.inc({ reason }),
  };
}
