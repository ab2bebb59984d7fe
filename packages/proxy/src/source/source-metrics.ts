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
  /** Something of the source could not be read or watched. */
  sourceError(): void;
  /** A document is not served; the one before it, if any, stands. */
  documentInvalid(reason: InvalidReason): void;
  /** Something was left out of a document, or its author will want to know of it. */
  documentRemark(kind: RemarkKind): void;
}
