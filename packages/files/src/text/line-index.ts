import type { TextPosition } from "./parsed-text.js";

/** Remembering each line would take 8 bytes a line: more than a text of empty lines itself. */
const linesPerMark = 256;

/** Turns offsets in a text into lines and columns, from 1. The index is made on first use: most texts have nothing to report. */
export class LineIndex {
  readonly #text: string;
  /** The starts of lines 1, 257, 513 and so on. */
  #marks: readonly number[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  positionOf(offset: number): TextPosition {
    const marks = (this.#marks ??= marksOf(this.#text));
    let low = 0;
    let high = marks.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((marks[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    let line = low * linesPerMark + 1;
    let start = marks[low] ?? 0;
    for (let end = this.#text.indexOf("\n", start); end >= 0 && end < offset; line++) {
      start = end + 1;
      end = this.#text.indexOf("\n", start);
    }
    return { line, column: offset - start + 1 };
  }
}

function marksOf(text: string): readonly number[] {
  const marks = [0];
  let line = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (++line % linesPerMark === 0) marks.push(at + 1);
  }
  return marks;
}
