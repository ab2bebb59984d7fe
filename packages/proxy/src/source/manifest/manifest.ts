import type { FlagDocument, JsonValue, TopicKey } from "@bunting/protocol";
import type { InvalidReason } from "../source-metrics.js";
import type { ParsedDocument, TextRemark } from "./parsed-text.js";

/** What a file says about flags. */
export interface Manifest {
  readonly flags: readonly ManifestFlags[];
  readonly faults: readonly ManifestFault[];
  readonly remarks: readonly TextRemark[];
}

/** The flags of one topic. */
export interface ManifestFlags {
  readonly topic: TopicKey;
  readonly document: FlagDocument;
  readonly line: number;
}

/** Something in the file that can't be served. */
export interface ManifestFault {
  readonly reason: InvalidReason;
  readonly line: number;
  readonly message: string;
  /** Whose flags it would have been; absent if nobody can tell: then it may be any that the file held before. */
  readonly topic?: TopicKey;
}

/** The topic of a plain flagd file, which does not name it itself; or why it can have none. */
export type PlainTopic = { readonly topic: TopicKey } | { readonly problem: string };

/** A value at its place in a document. */
export interface Place {
  readonly document: ParsedDocument;
  readonly path: readonly string[];
  readonly value: JsonValue;
}

/** What one place holds: flags and remarks on them, a fault, or (undefined) nothing that concerns us. */
export type ReadPlace =
  { readonly flags: ManifestFlags; readonly remarks: readonly TextRemark[] } | ManifestFault | undefined;

/** A fault at the place itself or, with `below`, inside of it. */
export function faultAt(
  place: Place,
  reason: InvalidReason,
  message: string,
  below: readonly string[] = [],
  topic?: TopicKey,
): ManifestFault {
  const line = place.document.lineOf([...place.path, ...below]);
  return { reason, line, message, ...(topic === undefined ? {} : { topic }) };
}
