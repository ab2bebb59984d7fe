import type { JsonValue } from "@bunting/protocol";
import { JsonSyntaxError, parseJson } from "../json-syntax.js";
import { ScanError } from "./json-scanner.js";

/** A piece of a document: from `start` to before `end`, in bytes. */
export interface Slice {
  readonly start: number;
  readonly end: number;
}

/** @throws ScanError if the slice is no JSON */
export function parseSlice(bytes: Buffer, slice: Slice): JsonValue {
  return parseText(bytes.toString("utf8", slice.start, slice.end), slice.start);
}

/** @param offset where the text begins in its document. */
export function parseText(text: string, offset: number): JsonValue {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!(cause instanceof JsonSyntaxError)) throw cause;
    throw new ScanError(cause.message, offset + Buffer.byteLength(text.slice(0, cause.position)), { cause });
  }
}

/** True if both are absent, or present with equal bytes. */
export function isSameSlice(
  bytes: Buffer,
  slice: Slice | undefined,
  otherBytes: Buffer,
  other: Slice | undefined,
): boolean {
  if (slice === undefined || other === undefined) return slice === other;
  return bytes.compare(otherBytes, other.start, other.end, slice.start, slice.end) === 0;
}
