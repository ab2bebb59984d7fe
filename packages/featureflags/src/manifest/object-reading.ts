import type { FlagDocument, JsonValue, Readers, TopicKey } from "@bunting/protocol";
import type { InvalidReason, WarningKind } from "./manifest.js";

/**
 * What one object says about flags: flags and warnings about them, why they can't be served, or (undefined) nothing that is read here.
 * All paths begin at the object.
 */
export type ObjectReading =
  { readonly flags: ObjectFlags; readonly warnings: readonly ObjectWarning[] } | ObjectError | undefined;

/** The flags of one topic. */
export interface ObjectFlags {
  readonly topic: TopicKey;
  readonly document: FlagDocument;
  /** The document as it is written, before it was brought into the form that all providers read. */
  readonly written: JsonValue;
  /** The namespaces and ServiceAccounts that a FeatureFlag is shared with; absent if there are none. */
  readonly readers?: Readers;
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
