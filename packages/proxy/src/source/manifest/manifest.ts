import type { ParsedDocument } from "@bunting/files";
import type { FlagDocument, JsonValue, TopicKey } from "@bunting/protocol";
import type { InvalidReason, WarningKind } from "../source-metrics.js";

/** What a file says about flags. */
export interface Manifest {
  readonly flags: readonly ManifestFlags[];
  readonly errors: readonly ManifestError[];
  readonly warnings: readonly ManifestWarning[];
}

/** The flags of one topic. */
export interface ManifestFlags {
  readonly topic: TopicKey;
  readonly document: FlagDocument;
  readonly line: number;
}

/** Something in the file that can't be served. */
export interface ManifestError {
  readonly reason: InvalidReason;
  readonly line: number;
  /** Known of errors of syntax only. */
  readonly column?: number;
  readonly message: string;
  /** The topic the flags would have had; absent if that is not clear: then it may be any topic that the file held before. */
  readonly topic?: TopicKey;
}

/** Something in the file that is served, but maybe not as its author thinks. */
export interface ManifestWarning {
  readonly kind: WarningKind;
  readonly line: number;
  readonly message: string;
}

/** The topic of a plain flagd file, which does not name it itself; or why it can have none. */
export type PlainTopic = { readonly topic: TopicKey } | { readonly problem: string };

/** A value at its place in a document. */
export interface Place {
  readonly document: ParsedDocument;
  readonly path: readonly string[];
  readonly value: JsonValue;
}

/** What one place holds: flags and warnings about them, an error, or (undefined) nothing that is read here. */
export type ReadPlace =
  | { readonly flags: ManifestFlags; readonly warnings: readonly ManifestWarning[] }
  | ManifestError
  | undefined;

/** An error at the place itself or, with `below`, inside of it. */
export function errorAt(
  place: Place,
  reason: InvalidReason,
  message: string,
  below: readonly string[] = [],
  topic?: TopicKey,
): ManifestError {
  const line = place.document.lineOf([...place.path, ...below]);
  return { reason, line, message, ...(topic === undefined ? {} : { topic }) };
}
