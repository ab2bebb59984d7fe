/**
 * Why a file, or one FeatureFlag in it, is not served as it stands.
 *
 * - empty, encoding, too_large: the file as a whole can't be flags.
 * - syntax: it is not YAML or JSON.
 * - manifest: it is no FeatureFlag manifest and no flagd file, or its names are wrong.
 * - document: the flags in it have no form that providers read.
 * - duplicate: the FeatureFlag is served from another place already.
 */
export type InvalidReason =
  "empty" | "encoding" | "too_large" | "syntax" | "manifest" | "document" | "duplicate";

/** What authors will want to know of, though the document is served. */
export type RemarkKind = "yaml_1_1" | "stripped_metadata" | "other";

/** What a source counts; the wiring backs it. Once a version of a file each, however often the file is looked at. */
export interface SourceMetrics {
  /** Something of the source could not be read or watched; `kind` is one of a small set of words. */
  sourceError(kind: string): void;
  /** A document is not served; the one before it, if any, stands. */
  documentInvalid(reason: InvalidReason): void;
  /** Something was left out of a document, or its author will want to know of it. */
  documentRemark(kind: RemarkKind): void;
  /** A watch began to read everything anew. */
  relisted(reason: string): void;
  /** A watch brought an event. */
  watchEvent(type: string): void;
  /** An edit was made (by its own word) so many ms before it came here. */
  writtenToEvent(ms: number): void;
  /** Who to ask for the watches there are, whenever somebody looks. */
  watchCensus(read: () => WatchCensus): void;
}

/** The watches of the kubernetes source at one moment. */
export interface WatchCensus {
  readonly open: Readonly<Record<"object" | "namespace" | "cluster", number>>;
  /** Age of the oldest open watch, in ms. */
  readonly oldestMs: number;
  /** The longest time for which an open watch has brought nothing, in ms. */
  readonly silentMs: number;
  /** FeatureFlags that are read now and then, as there are too many for a watch each. */
  readonly unwatched: number;
}
