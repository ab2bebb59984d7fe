import { serverMetrics, type DropReason } from "@bunting/server";
import { Counter, Gauge, Histogram, type MetricsOf, type Registry } from "@bunting/runtime";
import type { ApiMetrics } from "../api/api-metrics.js";
import type { StoreMetrics } from "../store/store-metrics.js";
import type { SyncMetrics, FeatureFlagWatchMetrics } from "../sync/sync-metrics.js";
import { syncProtocols } from "../sync/sync-protocol.js";
import { EvaluationCounts } from "./evaluation-counts.js";
import { CallMetrics } from "./call-metrics.js";
import { RequestMetrics } from "./request-metrics.js";
import { overflowLabels, seriesLimit } from "./series-limit.js";
import { targetInfo } from "./target-info.js";
import { featureFlagWatchMetrics } from "./watch-metrics.js";

type Labels = Readonly<Record<string, string>>;

const endedReasons = [
  "memory",
  "headers",
  "silent",
  "flood",
  "settings",
  "unfinished_headers",
  "stalled",
  "protocol_error",
  "tls",
] satisfies DropReason[];
/** Of each metric of streams, beside the one that counts the rest: clients choose selectors and provider ids. */
const maxStreamSeries = 100;
const streamBuckets = [30, 60, 300, 600, 1_800, 3_600, 10_800];

/** Implements the metrics of the stages with Prometheus ones; docs/reference/agent-metrics.md is generated from those registered here. */
export function agentPrometheusMetrics(
  registry: Registry,
): SyncMetrics & StoreMetrics & ApiMetrics & MetricsOf<ReturnType<typeof serverMetrics>> {
  targetInfo(registry);
  return {
    ...serverMetrics("bunting_agent_api", "agent").create(registry),
    ...syncMetrics(registry),
    ...storeMetrics(registry),
    ...apiMetrics(registry),
  };
}

function syncMetrics(registry: Registry): SyncMetrics {
  const registers = [registry];
  const connected = new Gauge({
    name: "bunting_agent_sync_connected",
    help: "1 while the source is connected, 0 while it is not and its flags may be stale.",
    labelNames: ["source"],
    registers,
  });
  const empty = new Gauge({
    name: "bunting_agent_sync_empty",
    help: "1 while the source answers, but has no flags: its FeatureFlag is missing or was deleted. The previous flags, if any, are still served.",
    labelNames: ["source"],
    registers,
  });
  const stale = new Gauge({
    name: "bunting_agent_sync_stale",
    help: "1 while the values of the source's flags are answered with reason STALE (--stale-after).",
    labelNames: ["source"],
    registers,
  });
  let unconfirmed: Parameters<SyncMetrics["readUnconfirmed"]>[0] = () => [];
  new Gauge({
    name: "bunting_agent_sync_unconfirmed_seconds",
    help: "Seconds since the flags of the source were last known to be the newest: 0 while it is connected and its newest document is served, since the start before it was.",
    labelNames: ["source"],
    registers,
    collect() {
      for (const [source, seconds] of unconfirmed()) this.set({ source }, seconds);
    },
  });
  const lastDocument = new Gauge({
    name: "bunting_agent_sync_last_document_timestamp_seconds",
    help: "When a document of the source was taken over or confirmed as the newest last, in seconds since the epoch.",
    labelNames: ["source"],
    registers,
  });
  const received = new Counter({
    name: "bunting_agent_sync_documents_total",
    help: "Documents received from the source.",
    labelNames: ["source"],
    registers,
  });
  const protocols = new Gauge({
    name: "bunting_agent_sync_protocol",
    help: "1 for the protocol used with the source, now or last: bunting.sync.v1 or flagd.sync.v1.",
    labelNames: ["source", "protocol"],
    registers,
  });
  const messages = new Counter({
    name: "bunting_agent_sync_messages_total",
    help: "Messages received from the source; each message of flagd.sync.v1 is of kind document.",
    labelNames: ["source", "kind"],
    registers,
  });
  const messageBytes = new Counter({
    name: "bunting_agent_sync_message_bytes_total",
    help: "Bytes of the messages received from the source.",
    labelNames: ["source", "kind"],
    registers,
  });
  const nacks = new Counter({
    name: "bunting_agent_sync_nacks_total",
    help: "Messages of the proxy that were not applied: refused, or mismatch where a delta does not start from the document that is held.",
    labelNames: ["source", "reason"],
    registers,
  });
  const failures = new Counter({
    name: "bunting_agent_sync_failures_total",
    help: "Streams of the source that ended, files that could not be read, connections that failed, documents that were refused.",
    labelNames: ["source", "reason"],
    registers,
  });
  const renewals = new Counter({
    name: "bunting_agent_sync_stream_renewals_total",
    help: "Streams opened because the token file of the source has a newer token: taken_over from the stream before, or failed, so that it went on with the token before.",
    labelNames: ["source", "result"],
    registers,
  });
  let watches: FeatureFlagWatchMetrics | undefined;
  return {
    watches: () => (watches ??= featureFlagWatchMetrics(registry)),
    connected: (source, isConnected) => connected.set({ source }, isConnected ? 1 : 0),
    empty: (source, isEmpty) => empty.set({ source }, isEmpty ? 1 : 0),
    stale: (source, isStale) => stale.set({ source }, isStale ? 1 : 0),
    readUnconfirmed: (read) => {
      unconfirmed = read;
    },
    speaks: (source, protocol) => {
      for (const each of syncProtocols) protocols.set({ source, protocol: each }, each === protocol ? 1 : 0);
    },
    messageReceived: (source, kind, bytes) => {
      messages.inc({ source, kind });
      messageBytes.inc({ source, kind }, bytes);
    },
    nacked: (source, reason) => nacks.inc({ source, reason }),
    documentReceived: (source) => received.inc({ source }),
    documentConfirmed: (source) => lastDocument.set({ source }, Date.now() / 1_000),
    sourceFailed: (source, reason) => failures.inc({ source, reason }),
    streamRenewed: (source, result) => renewals.inc({ source, result }),
  };
}

function storeMetrics(registry: Registry): StoreMetrics {
  const registers = [registry];
  const update = new Histogram({
    name: "bunting_agent_store_update_seconds",
    help: "Seconds that applying a document blocked the event loop.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  const documentBytes = new Gauge({
    name: "bunting_agent_store_document_bytes",
    help: "Size of the newest document of the source that was applied.",
    labelNames: ["source"],
    registers,
  });
  const refused = new Counter({
    name: "bunting_agent_store_refused_documents_total",
    help: "Documents refused as a whole; the previous document is still served.",
    labelNames: ["source", "code"],
    registers,
  });
  const served = new Gauge({ name: "bunting_agent_store_flags", help: "Flags that are served.", registers });
  const rejected = new Gauge({
    name: "bunting_agent_store_rejected_flags",
    help: "Flags of the source's newest document that are rejected; each keeps its previous value, if it had one.",
    labelNames: ["source"],
    registers,
  });
  const lastKnownGoodFailures = new Counter({
    name: "bunting_agent_store_last_known_good_failures_total",
    help: "Times a last-known-good copy could not be written.",
    labelNames: ["source"],
    registers,
  });
  return {
    documentApplied: (source, durationMs, bytes) => {
      update.observe(durationMs / 1_000);
      documentBytes.set({ source }, bytes);
    },
    documentRefused: (source, code) => refused.inc({ source, code }),
    flagsServed: (total) => served.set(total),
    flagsRejected: (source, current) => rejected.set({ source }, current),
    lastKnownGoodFailed: (source) => lastKnownGoodFailures.inc({ source }),
  };
}

function apiMetrics(registry: Registry): Omit<ApiMetrics, "requestRefused"> {
  const registers = [registry];
  const provider = { feature_flag_provider_name: "flagd" };
  const metric = { series: 0 };
  const counts = new EvaluationCounts(provider, metric);
  const ofrepCounts = new EvaluationCounts({ ...provider, protocol: "ofrep" }, metric);
  EvaluationCounts.register(registry, [counts, ofrepCounts]);
  const requests = new RequestMetrics(registry);
  const calls = new CallMetrics(registry);
  const ended = new Counter({
    name: "bunting_agent_api_connections_ended_total",
    help: "Connections that the agent ended or refused, by the limit: memory (what peers may make it hold), headers (--max-request-header), silent (no answer to a PING), flood (of PING or SETTINGS frames), settings (not acknowledged), unfinished_headers (a header block of HTTP/2 did not end), stalled (the peer read nothing for 60 s), protocol_error (it violated HTTP/2), tls (a handshake failed or took 10 s, or the peer spoke plaintext to a port with TLS or the reverse).",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of endedReasons) ended.inc({ reason }, 0);
  const unadmitted = new Counter({
    name: "bunting_agent_api_unauthenticated_total",
    help: "Requests refused because their token was missing, or is not in --auth-token-file (wrong).",
    labelNames: ["reason"],
    registers,
  });
  let longRequests: { readonly waiting: number } = { waiting: 0 };
  new Gauge({
    name: "bunting_agent_api_long_requests_waiting",
    help: "Requests that take long, those for all flags and those of more than 16 KiB, which wait for their turn, so that evaluations of single flags are answered between them.",
    registers,
    collect() {
      this.set(longRequests.waiting);
    },
  });
  const streams = new Gauge({
    name: "feature_flag_flagd_sync_active_streams",
    help: "Open SyncFlags streams of providers that evaluate in process.",
    labelNames: ["selector", "provider_id", "otel_metric_overflow"],
    registers,
  });
  const streamDuration = new Histogram({
    name: "feature_flag_flagd_sync_stream_duration_seconds",
    help: "Seconds a SyncFlags stream lived, by the reason for its end.",
    labelNames: ["selector", "provider_id", "reason", "otel_metric_overflow"],
    buckets: streamBuckets,
    registers,
  });
  const hasSeries = seriesLimit(maxStreamSeries);
  const hasDurationSeries = seriesLimit(maxStreamSeries);
  const labelsOf = (selector: string, providerId: string): Labels => {
    const labels = streamLabels(selector, providerId);
    return hasSeries(JSON.stringify(labels)) ? labels : overflowLabels;
  };
  return {
    evaluated: (flagKey, reason, variant) => counts.evaluated(flagKey, reason, variant),
    evaluationFailed: (_flagKey, errorCode) => counts.failed(errorCode),
    ofrepEvaluated: (flagKey, reason, variant) => ofrepCounts.evaluated(flagKey, reason, variant),
    ofrepEvaluationFailed: (_flagKey, errorCode) => ofrepCounts.failed(errorCode),
    httpRequest: (service, route, record) => requests.http(route, service === "ofrep", record),
    httpActiveRequests: (route, method, change) => requests.active(route, method, change),
    rpc: (...call) => calls.record(...call),
    grpcCalls: (isHttp) => (path, ended, durationMs, requestBytes, responseBytes, responses) => {
      // A client that has gone is no error of the server: streams end so.
      const code = ended === "CANCELLED" ? "OK" : ended;
      calls.record("grpc", path, code, durationMs, requestBytes, responseBytes, responses);
      if (isHttp) requests.routed(path, "POST", durationMs, responseBytes);
    },
    connectionEnded: (reason) => ended.inc({ reason }),
    unadmitted: (reason) => unadmitted.inc({ reason }),
    longRequests: (requests) => {
      longRequests = requests;
    },
    syncStreamOpened: (selector, providerId) => streams.inc(labelsOf(selector, providerId)),
    syncStreamClosed: (selector, providerId, reason, durationMs) => {
      streams.dec(labelsOf(selector, providerId));
      // flagd does not tell a client that has gone from a stream that ended well.
      const named = reason === "client_disconnect" ? "normal_close" : reason;
      const labels = { ...streamLabels(selector, providerId), reason: named };
      const isOwn = hasDurationSeries(JSON.stringify(labels));
      streamDuration.observe(isOwn ? labels : overflowLabels, durationMs / 1_000);
    },
  };
}

/** As in flagd, a stream without a selector or a provider id has no label for it. */
function streamLabels(selector: string, providerId: string): Labels {
  return {
    ...(selector === "" ? {} : { selector }),
    ...(providerId === "" ? {} : { provider_id: providerId }),
  };
}
