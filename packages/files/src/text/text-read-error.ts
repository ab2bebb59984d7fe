import { CodedError } from "@bunting/runtime/options";
import type { TextErrorReason } from "./parsed-text.js";

/** Why a text can't be read, and at which character. */
export class TextReadError extends CodedError<TextErrorReason> {
  override readonly name = "TextReadError";
  readonly offset: number;

  constructor(code: TextErrorReason, offset: number, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.offset = offset;
  }
}

export function tooDeep(offset: number, maxDepth: number): TextReadError {
  return new TextReadError("syntax", offset, `values are nested more than ${maxDepth} deep`);
}

export function tooLarge(offset: number): TextReadError {
  return new TextReadError("too_large", offset, yamlTooLarge);
}

export const yamlTooLarge =
  "there is not enough memory to read it as YAML: write it as JSON, which needs a fraction, or give the process more memory";
export const jsonTooLarge =
  "there is not enough memory to read it: split the file, or give the process more memory";

export function tooLong(offset: number, maxJsonBytes: number): TextReadError {
  const message = `it would be more than ${maxJsonBytes} bytes of JSON, with all aliases written out`;
  return new TextReadError("syntax", offset, message);
}

export function tooManyRepeated(offset: number): TextReadError {
  const message =
    "there is not enough memory for its values with all aliases written out: use fewer aliases, or give the process more memory";
  return new TextReadError("too_large", offset, message);
}
