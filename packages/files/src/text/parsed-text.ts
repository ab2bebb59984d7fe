import { cut } from "@bunting/runtime/options";
import type { JsonValue } from "@bunting/protocol";

/** The parsed values of a file, not yet interpreted; or why it can't be read, and where. */
export type ParsedText =
  | { readonly kind: "documents"; readonly documents: readonly TextDocument[] }
  | ({ readonly kind: "error"; readonly reason: TextErrorReason; readonly message: string } & TextPosition);

/**
 */
export type TextErrorReason =
  | "encoding" // it is no text: see utf8-of.ts.
  | "empty" // it holds nothing.
  | "syntax" // it is not JSON or YAML, says what JSON can't say, or is malicious (excessive nesting or aliases).
  | "too_large"; // there is not enough memory to read it.

/** One document of a text, with the way back to the lines it came from. */
export interface TextDocument {
  readonly value: JsonValue;
  /** Where the key or item at the path is, or the nearest around it that is there. */
  positionOf(path: readonly string[]): TextPosition;
  /** Values that the author may have meant differently. */
  warnings(): readonly TextWarning[];
}

export interface TextWarning extends TextPosition {
  /** yaml_1_1: a plain scalar that YAML 1.1, and with it kubectl, reads otherwise. */
  readonly kind: "yaml_1_1" | "other";
  readonly message: string;
}

/** An error of a text, with no more of its words than fit into a line of a log: a key or a number may be the whole text. */
export function readError(
  reason: TextErrorReason,
  message: string,
  { line, column }: TextPosition = { line: 1, column: 1 },
): ParsedText {
  return { kind: "error", reason, line, column, message: cut(message) };
}

/** Both from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}
