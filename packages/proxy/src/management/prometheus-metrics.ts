import { serverMetrics, tlsMetrics, type ServerMetrics, type TlsMetrics } from "@bunting/server";
import { Counter, Gauge, Histogram, HotHistogram, type Registry } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";
import { connectionMetrics, type ConnectionMetrics } from "./connection-metrics.js";
import { accessMetrics } from "./access-metrics.js";
import { copyMetrics } from "./copy-metrics.js";
import { limitMetrics } from "./limit-metrics.js";
import { agentMetrics } from "./agent-metrics.js";
import { backplaneMetrics, type ReadableBackplaneMetrics } from "./backplane-metrics.js";
import { upstreamMetrics } from "./upstream-metrics.js";
import { watchMetrics, type WatchMetrics } from "./watch-metrics.js";

const fanOutBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Implements the metrics of all stages with Prometheus; docs/reference/proxy-metrics.md is rendered from what is registered here. */
export function proxyPrometheusMetrics(
  registry: Registry,
): ProxyMetrics &
  WatchMetrics &
  ServerMetrics &
  ConnectionMetrics &
  ReadableBackplaneMetrics & { readonly tls: TlsMetrics } {
  const registers = [registry];
  const activeStreams = new Gauge({
    name: "sync_active_streams",
    help: "Open SyncFlags streams, under the name that flagd-proxy gave them.",
    registers,
  });
  const topics = new Gauge({
    name: "bunting_proxy_topic_topics",
    help: "Topics by state: starting, live, missing, deleted or stale.",
    labelNames: ["state"],
    registers,
  });
  const heldSubscribers = new Gauge({
    name: "bunting_proxy_topic_held_subscribers",
    help: "Subscribers that wait because there is nothing to serve them: their FeatureFlag does not exist, or is not read yet.",
    registers,
  });
  const snapshotsPublished = new Counter({
    name: "bunting_proxy_snapshot_published_total",
    help: "Snapshots that became the newest of their topic.",
    registers,
  });
  const snapshotBytes = new Counter({
    name: "bunting_proxy_snapshot_encoded_bytes_total",
    help: "Bytes of all snapshots; each is encoded once for all of its subscribers.",
    registers,
  });
  const convergence = new Histogram({
    name: "bunting_proxy_topic_convergence_seconds",
    help: "Seconds from when the source noticed a change until 0.5, 0.99 or all (1) of the subscribers at its publication had it: acknowledged if the protocol has acks, else written.",
    labelNames: ["share"],
    buckets: fanOutBuckets,
    registers,
  });
  const conflated = new Counter({
    name: "bunting_proxy_subscriber_conflated_total",
    help: "Snapshots not sent to a subscriber because a newer one took their place.",
    registers,
  });
  // Counted here and handed over when Prometheus scrapes: this runs for each subscriber of each broadcast.
  let frames = 0;
  new Counter({
    name: "bunting_proxy_subscriber_frames_written_total",
    help: "Snapshots written to streams.",
    registers,
    collect() {
      this.reset();
      this.inc(frames);
    },
  });
  const fanOut = new HotHistogram({
    name: "bunting_proxy_subscriber_fan_out_seconds",
    help: "Seconds from the publication of a snapshot until it was written to a subscriber.",
    buckets: fanOutBuckets,
    registers,
  });
  const sourceErrors = new Counter({
    name: "bunting_proxy_source_errors_total",
    help: "Times the source could not be read or watched, by kind; the last documents are still served.",
    labelNames: ["kind"],
    registers,
  });
  const invalidDocuments = new Counter({
    name: "bunting_proxy_source_invalid_documents_total",
    help: "Documents that can't be served; the version before is still served.",
    registers,
  });
  const documentWarnings = new Counter({
    name: "bunting_proxy_source_document_remarks_total",
    help: "Warnings about documents: parts left out (metadata other than strings, numbers and booleans), or worth a look.",
    registers,
  });
  for (const state of ["starting", "live", "missing", "deleted", "stale"]) topics.set({ state }, 0);
  return {
    activeStreams: (delta) => activeStreams.inc(delta),
    topics: (state, delta) => topics.inc({ state }, delta),
    heldSubscribers: (delta) => heldSubscribers.inc(delta),
    snapshotPublished: (bytes) => {
      snapshotsPublished.inc();
      snapshotBytes.inc(bytes);
    },
    converged: (share, ms) => convergence.observe({ share }, ms / 1_000),
    conflated: (snapshots) => conflated.inc(snapshots),
    frameWritten: () => {
      frames++;
    },
    fannedOut: (ms) => fanOut.record(ms / 1_000),
    sourceError: (kind) => sourceErrors.inc({ kind }),
    documentInvalid: () => invalidDocuments.inc(),
    documentWarning: () => documentWarnings.inc(),
    ...accessMetrics(registry),
    ...limitMetrics(registry),
    ...serverMetrics(registry, "bunting_proxy_service", "proxy"),
    ...connectionMetrics(registry),
    tls: tlsMetrics(registry, "bunting_proxy_service"),
    ...agentMetrics(registry),
    ...watchMetrics(registry),
    ...upstreamMetrics(registry),
    ...backplaneMetrics(registry),
    ...copyMetrics(registry),
  };
}
