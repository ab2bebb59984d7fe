/**
 * Why a file, or one FeatureFlag in it, is not served as it stands.
 *
 * - empty, encoding, too_large: the file as a whole can't be flags.
 * - syntax: it is not YAML or JSON.
 * - manifest: it is neither a FeatureFlag manifest nor a flagd file, or its names are wrong.
 * - document: providers can't read the flags in it.
 * - duplicate: the FeatureFlag is served from another place already.
 */
export type InvalidReason =
  "empty" | "encoding" | "too_large" | "syntax" | "manifest" | "document" | "duplicate";

/** Why the author of a document that is served is warned. */
export type WarningKind = "yaml_1_1" | "stripped_metadata" | "other";

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
