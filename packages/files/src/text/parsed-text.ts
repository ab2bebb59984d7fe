import type { JsonValue } from "@bunting/protocol";

/** What a file's text says, before it is known what it means. */
export type ParsedText =
  { readonly kind: "documents"; readonly documents: readonly ParsedDocument[] } | TextError;

/** Why a text can't be read, and where. */
export interface TextError {
  readonly kind: "error";
  /**
   * - encoding: it is not UTF-8.
   * - empty: it holds nothing.
   * - syntax: it is not JSON or YAML, says what JSON can't say, or is built to hurt: nesting or aliases without end.
   * - too_large: there is not enough memory to read it.
   */
  readonly reason: "encoding" | "empty" | "syntax" | "too_large";
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly message: string;
}

/** One document of a text, with the way back to the lines it came from. */
export interface ParsedDocument {
  readonly value: JsonValue;
  /** The line, from 1, of the key or item at the path, or of the nearest around it that is there. */
  lineOf(path: readonly string[]): number;
  /** What this document says, but not as its author may think. */
  warnings(): readonly TextWarning[];
}

export interface TextWarning {
  /** yaml_1_1: a plain scalar that YAML 1.1, and with it kubectl, reads otherwise. */
  readonly kind: "yaml_1_1" | "other";
  readonly line: number;
  readonly message: string;
}

export function textError(
  reason: TextError["reason"],
  message: string,
  { line, column }: TextPosition = { line: 1, column: 1 },
): TextError {
  return { kind: "error", reason, line, column, message };
}

export interface TextPosition {
  readonly line: number;
  readonly column: number;
}
