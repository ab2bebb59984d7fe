import type { SourceMetrics } from "./source/source-metrics.js";

/**
 * What all stages count, the source's own metrics included. They see only this; management/prometheus-metrics.ts backs it. Called on
 * hot paths: nothing is allocated for a call.
 */
export interface ProxyMetrics extends SourceMetrics {
  /** SyncFlags streams opened (1) or closed (-1): `sync_active_streams`, the name flagd-proxy gave it. */
  activeStreams(delta: number): void;
  /** Topics that came into a state (1) or left it (-1): `bunting_proxy_topic_topics{state}`. */
  topics(state: string, delta: number): void;
  /** Subscribers that wait since there is nothing to serve them: `bunting_proxy_topic_held_subscribers`. */
  heldSubscribers(delta: number): void;
  /** A topic got a new document: `bunting_proxy_snapshot_published_total`, `bunting_proxy_snapshot_encoded_bytes_total`. */
  snapshotPublished(bytes: number): void;
  /** From the source's notice of a change until this share of the subscribers there were had it: `bunting_proxy_topic_convergence_seconds{share}`. */
  converged(share: number, ms: number): void;
  /** Snapshots a subscriber was never sent, since a newer one took their place: `bunting_proxy_subscriber_conflated_total`. */
  conflated(snapshots: number): void;
  /** A snapshot was written to a stream: `bunting_proxy_subscriber_frames_written_total`. */
  frameWritten(): void;
  /** From a snapshot's publication to its having been written to one who was subscribed by then: `bunting_proxy_subscriber_fan_out_seconds`. */
  fannedOut(ms: number): void;
  /** A stream was ended as its peer did not read: `bunting_proxy_subscriber_stalled_total`. */
  stalled(): void;
  /** Streams that began (1) or ended (-1) to wait for their first snapshot's turn: `bunting_proxy_subscriber_queued`. */
  queuedStarts(delta: number): void;
  /** A subscription was refused for a limit: `bunting_proxy_service_refusals_total{reason}`. */
  refused(reason: string): void;
  /** This end has ended a connection: `bunting_proxy_service_connections_ended_total{reason}`. */
  connectionEnded(reason: string): void;
  /** A message of bunting.sync.v1 was written: `bunting_proxy_subscriber_messages_total{kind}`, `bunting_proxy_subscriber_message_bytes_total{kind}`. */
  agentMessage(kind: AgentMessageKind, bytes: number): void;
  /** Subscriptions of bunting.sync.v1 opened (1) or closed (-1): `bunting_proxy_subscriber_subscriptions`. */
  agentSubscriptions(delta: number): void;
  /** An agent applied nothing of what it was sent: `bunting_proxy_subscriber_nacks_total{kind}`. */
  nacked(kind: "refused" | "mismatch"): void;
  /** An agent did not answer in time: `bunting_proxy_subscriber_ack_timeouts_total`. */
  ackTimedOut(): void;
  /** Flags that agents began (1) or ceased (-1) to refuse: `bunting_proxy_subscriber_rejected_flags`. */
  rejectedFlags(delta: number): void;
  /** Subscriptions that wait until the source was read again, as their agent knows of a newer version: `bunting_proxy_subscriber_held_back`. */
  heldBack(delta: number): void;
}

/** What a proxy says to an agent. */
export const agentMessageKinds = [
  "unchanged",
  "delta",
  "snapshot",
  "missing",
  "deleted",
  "topic_error",
  "heartbeat",
] as const;
export type AgentMessageKind = (typeof agentMessageKinds)[number];

/** Counts nothing. */
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
  sourceError: ignore,
  documentInvalid: ignore,
  documentWarning: ignore,
  relisted: ignore,
  watchEvent: ignore,
  writtenToEvent: ignore,
  watchCounts: ignore,
};

function ignore(): void {
  // On purpose.
}
