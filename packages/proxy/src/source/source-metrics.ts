import type { InvalidReason, WarningKind } from "@bunting/featureflags/manifests";

/** What a source counts: each once per version of a file or object, however often it is read. */
export interface SourceMetrics {
  /** A part of the source could not be read or watched; `kind` is one of a small set of words. */
  sourceError(kind: string): void;
  /** A document is not served; the one before it, if any, stays in force. */
  documentInvalid(reason: InvalidReason): void;
  /** A part of a document was left out, or its author should look at it. */
  documentWarning(kind: WarningKind): void;
  /** A watch began to read everything again. */
  relisted(reason: string): void;
  /** A watch received an event. */
  watchEvent(type: string): void;
  /** An edit arrived this many ms after its author made it, by the annotation that says when. */
  writtenToEvent(ms: number): void;
  /** Topics of which a copy on disk is served (1), or no longer is (-1), because the source has not said what they are. */
  unconfirmedTopics(delta: number): void;
  /** A copy on disk could not be used or written, or was removed because copies take too much. */
  copyFailed(kind: "unusable" | "write" | "full"): void;
  /** A stream to another proxy was opened (1), or has ended (-1). */
  upstreamStreams(delta: number): void;
  /** A message of another proxy arrived. */
  upstreamMessage(kind: string, bytes: number): void;
  /** A stream to another proxy ended, or could not be opened; `reason` is one of a small set of words. */
  upstreamFailed(reason: string): void;
  /** Hands over how to count the watches, for metrics and the status page. */
  watchCounts(read: () => WatchCounts): void;
}

/** The watches of the kubernetes source at one moment. */
export interface WatchCounts {
  readonly open: Readonly<Record<"object" | "namespace" | "cluster", number>>;
  /** Age of the oldest open watch, in ms. */
  readonly oldestMs: number;
  /** The longest time for which an open watch has been silent, in ms. */
  readonly silentMs: number;
  /** FeatureFlags that are read only in turn, because there are too many for a watch each. */
  readonly unwatched: number;
  /** Watches of names that peers may have guessed, which wait for their turn to be opened. */
  readonly waiting: number;
}
