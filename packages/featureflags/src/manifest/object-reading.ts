import type { FlagDocument, JsonObject, JsonValue, Readers, RefusedFlag, TopicKey } from "@bunting/protocol";

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

/**
 * What one object says about flags: flags and warnings about them, why they can't be served, or (undefined) nothing that is read here.
 * All paths begin at the object.
 */
export type ObjectReading =
  { readonly flags: ObjectFlags; readonly warnings: readonly ObjectWarning[] } | ObjectError | undefined;

export interface ObjectFlags {
  readonly topic: TopicKey;
  readonly document: FlagDocument;
  /** The flags that can't be served, and are not in the document; absent if there are none. */
  readonly refused?: readonly RefusedFlag[];
  /** The document as it is written, before it was brought into the form that all providers read. */
  readonly written: JsonValue;
  /** The namespaces and ServiceAccounts that a FeatureFlag is shared with; absent if there are none. */
  readonly readers?: Readers;
  /** The FeatureFlag's `spec.remoteFlagProvider`, unchecked; absent without one. */
  readonly provider?: JsonObject;
  /** Where the document lies. */
  readonly path: readonly string[];
}

/** Why the flags of an object can't be served. */
export interface ObjectError {
  readonly reason: InvalidReason;
  readonly message: string;
  readonly path: readonly string[];
  /** Absent if it is not clear. */
  readonly topic?: TopicKey;
  /** The key of the one flag that is refused; absent if it is more. */
  readonly flag?: string;
  /** What else is wrong with the object. */
  readonly more?: readonly ObjectError[];
}

/** Something that is served, but maybe not as its author thinks. */
export interface ObjectWarning {
  readonly kind: WarningKind;
  readonly message: string;
  readonly path: readonly string[];
}

export function objectError(
  reason: InvalidReason,
  message: string,
  path: readonly string[] = [],
  topic?: TopicKey,
): ObjectError {
  return { reason, message, path, ...(topic === undefined ? {} : { topic }) };
}
