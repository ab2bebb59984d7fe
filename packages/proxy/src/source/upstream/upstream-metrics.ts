import { counter, defineMetrics, label, sizedCounter, upDownCounter } from "@bunting/runtime";

/** The metrics of streams from other proxies; all zero for other sources. */
export const upstreamMetrics = defineMetrics({
  upstreamStreams: upDownCounter(
    "bunting_proxy_upstream_streams",
    "Open streams from other proxies that feed this one.",
  ),
  upstreamMessage: sizedCounter(
    [
      "bunting_proxy_upstream_messages_total",
      "Messages from other proxies, by kind: unchanged, delta, snapshot, missing, deleted, topic_error, tier, freshness, history, trial, heartbeat or unknown.",
    ],
    ["bunting_proxy_upstream_received_bytes_total", "Bytes of the messages from other proxies, by kind."],
    label<string>("kind"),
  ),
  upstreamFailed: counter(
    "bunting_proxy_upstream_failures_total",
    "Streams from other proxies that ended or could not be opened, by reason: loop, depth, silent, token, certificate, a status of gRPC and others.",
    label<string>("reason"),
  ),
});
