import type { SyncProtocol } from "./sync-protocol.js";

/** The kinds of messages; `document` is the only one of flagd.sync.v1. */
export type MessageKind =
  | "document"
  | "unchanged"
  | "snapshot"
  | "delta"
  | "missing"
  | "deleted"
  | "topic_error"
  | "heartbeat"
  | "unknown";

/** What the sync stage counts; agent.ts passes in real metrics. Sources are identified by their place in the list. */
export interface SyncMetrics {
  /** Whether a source is connected now. */
  connected(sourceIndex: number, isConnected: boolean): void;
  /** True if the source reported that it has no document: its topic is missing or was deleted. */
  empty(sourceIndex: number, isEmpty: boolean): void;
  /** Whether the flags of a source are answered with reason STALE. */
  stale(sourceIndex: number, isStale: boolean): void;
  /** `read` gives, for each source, the seconds since its flags were last known to be the newest: 0 while it is connected. */
  readUnconfirmed(read: () => Iterable<readonly [sourceIndex: number, seconds: number]>): void;
  /** Which protocol is used with a source. */
  speaks(sourceIndex: number, protocol: SyncProtocol): void;
  messageReceived(sourceIndex: number, kind: MessageKind, messageBytes: number): void;
  /** A message was answered with a nack: the document was refused, or does not match the current one. */
  nacked(sourceIndex: number, reason: "refused" | "mismatch"): void;
  /** A document was received, and taken over or refused. */
  documentReceived(sourceIndex: number, documentBytes: number): void;
  /** The current document is known to be the newest. */
  documentConfirmed(sourceIndex: number): void;
  /** A stream ended, or a file could not be read. `reason` is one of a small set of words. */
  sourceFailed(sourceIndex: number, reason: string): void;
  /** A stream with a newer token was to take over from the one before. */
  streamRenewed(sourceIndex: number, result: "taken_over" | "failed"): void;
  /** Metrics of watches of the API server: an agent without any does not have them. */
  watches(): FeatureFlagWatchMetrics;
}

/** Each word is one of few. */
export interface FeatureFlagWatchMetrics {
  /** A consistent read begins. */
  relisted(reason: string): void;
  watchEvent(type: string): void;
  watchFailed(kind: string): void;
}
