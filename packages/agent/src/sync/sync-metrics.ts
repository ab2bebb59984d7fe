import type { SyncProtocol } from "./sync-protocol.js";

/** What a message of a stream can be; `document` is one of flagd.sync.v1. */
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

/** What the sync stage counts; the wiring backs it with real metrics. Sources are named by their place in the list. */
export interface SyncMetrics {
  /** Whether a source can be heard right now. */
  connected(sourceIndex: number, isConnected: boolean): void;
  /** Which protocol is spoken with a source. */
  speaks(sourceIndex: number, protocol: SyncProtocol): void;
  messageReceived(sourceIndex: number, kind: MessageKind, messageBytes: number): void;
  /** A message was answered with a nack: the document was refused, or does not follow from what is held. */
  nacked(sourceIndex: number, reason: "refused" | "mismatch"): void;
  /** A document came. */
  documentReceived(sourceIndex: number, documentBytes: number): void;
  /** What is held is known to be the newest. */
  documentConfirmed(sourceIndex: number): void;
  /** A stream ended or a file could not be read; `reason` is one of a small set of words. */
  sourceFailed(sourceIndex: number, reason: string): void;
}

export const noSyncMetrics: SyncMetrics = {
  connected: () => undefined,
  speaks: () => undefined,
  messageReceived: () => undefined,
  nacked: () => undefined,
  documentReceived: () => undefined,
  documentConfirmed: () => undefined,
  sourceFailed: () => undefined,
};
