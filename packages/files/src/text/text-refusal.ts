import type { TextError } from "./parsed-text.js";

/** Ends the reading of a text: why, and at which character. */
export class TextRefusal extends Error {
  readonly reason: TextError["reason"];
  readonly offset: number;

  constructor(reason: TextError["reason"], offset: number, message: string) {
    super(message);
    this.reason = reason;
    this.offset = offset;
  }
}

export function tooDeep(offset: number, maxDepth: number): TextRefusal {
  return new TextRefusal("syntax", offset, `values are nested more than ${maxDepth} deep`);
}

export function tooLarge(offset: number): TextRefusal {
  const sentence =
    "there is not enough memory to read it as YAML: write it as JSON, which needs a fraction, or give the process more memory";
  return new TextRefusal("too_large", offset, sentence);
}

export function tooManyRepeated(offset: number): TextRefusal {
  const sentence =
    "there is not enough memory for its values with all aliases written out: use fewer aliases, or give the process more memory";
  return new TextRefusal("too_large", offset, sentence);
}
