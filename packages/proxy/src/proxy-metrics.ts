import type { AccessMetrics } from "./access/access-metrics.js";
import type { BackplaneMetrics } from "./source/backplane/backplane-metrics.js";
import type { SourceMetrics } from "./source/source-metrics.js";

/**
 * The metrics of all stages, including those of the source; management/prometheus-metrics.ts implements them. Called on hot paths: a call
 * allocates nothing.
 */
export interface ProxyMetrics extends SourceMetrics, BackplaneMetrics, AccessMetrics {
  /** SyncFlags streams opened (1) or closed (-1): `sync_active_streams`, the name flagd-proxy gave it. */
  activeStreams(delta: number): void;
  /** Topics that entered a state (1) or left it (-1): `bunting_proxy_topic_topics{state}`. */
  topics(state: string, delta: number): void;
  /** Subscribers that wait because there is nothing to serve them: `bunting_proxy_topic_held_subscribers`. */
  heldSubscribers(delta: number): void;
  /** A topic got a new document: `bunting_proxy_snapshot_published_total`, `bunting_proxy_snapshot_encoded_bytes_total`. */
  snapshotPublished(bytes: number): void;
  /** From when the source noticed a change until this share of the subscribers had it: `bunting_proxy_topic_convergence_seconds{share}`. */
  converged(share: number, ms: number): void;
  /** Snapshots not sent to a subscriber because a newer one took their place: `bunting_proxy_subscriber_conflated_total`. */
  conflated(snapshots: number): void;
  /** A snapshot was written to a stream: `bunting_proxy_subscriber_frames_written_total`. */
  frameWritten(): void;
  /** From the publication of a snapshot until it was written to a subscriber that was subscribed by then: `bunting_proxy_subscriber_fan_out_seconds`. */
  fannedOut(ms: number): void;
  /** A stream was ended because its peer did not read: `bunting_proxy_subscriber_stalled_total`. */
  stalled(): void;
  /** Streams that began (1) or stopped (-1) waiting for their first snapshot: `bunting_proxy_subscriber_queued`. */
  queuedStarts(delta: number): void;
  /** A subscription was refused because of a limit: `bunting_proxy_service_refusals_total{reason}`. */
  refused(reason: string): void;
  /** The proxy ended a connection: `bunting_proxy_service_connections_ended_total{reason}`. */
  connectionEnded(reason: string): void;
  /** Calls that began (1) or stopped (-1) waiting because their connection makes many short ones: `bunting_proxy_service_calls_waiting`. */
  callsWaiting(delta: number): void;
  /** A call has to wait for that reason: `bunting_proxy_service_calls_delayed_total`. */
  callDelayed(): void;
  /** A message of bunting.sync.v1 was written: `bunting_proxy_subscriber_messages_total{kind}`, `bunting_proxy_subscriber_message_bytes_total{kind}`. */
  agentMessage(kind: AgentMessageKind, bytes: number): void;
  /** Subscriptions of bunting.sync.v1 opened (1) or closed (-1): `bunting_proxy_subscriber_subscriptions`. */
  agentSubscriptions(delta: number): void;
  /** An agent applied nothing of a message: `bunting_proxy_subscriber_nacks_total{kind}`. */
  nacked(kind: "refused" | "mismatch"): void;
  /** An agent did not answer in time: `bunting_proxy_subscriber_ack_timeouts_total`. */
  ackTimedOut(): void;
  /** Flags that agents began (1) or stopped (-1) refusing: `bunting_proxy_subscriber_rejected_flags`. */
  rejectedFlags(delta: number): void;
  /** Subscriptions that began (1) or stopped (-1) waiting for a read of the source, because their agent holds a newer version: `bunting_proxy_subscriber_held_back`. */
  heldBack(delta: number): void;
}

/** The kinds of messages from a proxy to an agent. */
export const agentMessageKinds = [
  "unchanged",
  "delta",
  "snapshot",
  "missing",
  "deleted",
  "topic_error",
  "heartbeat",
  "tier",
  "freshness",
  "history",
] as const;
export type AgentMessageKind = (typeof agentMessageKinds)[number];

/** Ignores all metrics. */
export const noMetrics: ProxyMetrics = {
  activeStreams: ignore,
  topics: ignore,
  heldSubscribers: ignore,
  snapshotPublished: ignore,
  converged: ignore,
  conflated: ignore,
  frameWritten: ignore,
  fannedOut: ignore,
  agentMessage: ignore,
  agentSubscriptions: ignore,
  nacked: ignore,
  ackTimedOut: ignore,
  rejectedFlags: ignore,
  heldBack: ignore,
  stalled: ignore,
  queuedStarts: ignore,
  refused: ignore,
  connectionEnded: ignore,
  callsWaiting: ignore,
  callDelayed: ignore,
  admitted: ignore,
  identityRefused: ignore,
  topicRefused: ignore,
  pageRefused: ignore,
  accessEnded: ignore,
  watchedIdentities: ignore,
  tokenVerified: ignore,
  cachedTokens: ignore,
  keysRead: ignore,
  reviewed: ignore,
  cachedReviews: ignore,
  sourceError: ignore,
  documentInvalid: ignore,
  documentWarning: ignore,
  relisted: ignore,
  watchEvent: ignore,
  writtenToEvent: ignore,
  watchCounts: ignore,
  unconfirmedTopics: ignore,
  copyFailed: ignore,
  upstreamStreams: ignore,
  upstreamMessage: ignore,
  upstreamFailed: ignore,
  backplaneState: ignore,
  backplaneLease: ignore,
  backplaneWritten: ignore,
  backplaneWriteFailed: ignore,
  backplaneRecordRefused: ignore,
  backplaneLag: ignore,
  backplaneReport: ignore,
};

function ignore(): void {
  // On purpose.
}
