import type { JsonValue } from "@bunting/protocol";
import type { RemarkKind } from "../source-metrics.js";

/** What a file's text says, before anybody asks what it means. */
export type ParsedText =
  | { readonly kind: "documents"; readonly documents: readonly ParsedDocument[] }
  | { readonly kind: "invalid"; readonly line: number; readonly message: string };

/** One document of a text, with the way back to the lines it came from. */
export interface ParsedDocument {
  readonly value: JsonValue;
  /** The line, from 1, of the key or item at the path, or of the nearest around it that is there. */
  lineOf(path: readonly string[]): number;
  /** What this document says, but not as its author may think. */
  remarks(): readonly TextRemark[];
}

export interface TextRemark {
  readonly kind: RemarkKind;
  readonly line: number;
  readonly message: string;
}

/** Deeper nesting is refused: later stages walk documents by recursion. */
export const maxDepth = 200;
