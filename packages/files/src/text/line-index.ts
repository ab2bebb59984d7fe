import type { TextPosition } from "./parsed-text.js";

/** Remembering each line would take 8 bytes a line: more than a text of empty lines itself. */
const linesPerMark = 256;

interface Line {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

/** Turns offsets in a text into lines and columns, from 1. The index is made on first use: most texts have nothing to report. */
export function lineIndex(text: string): (offset: number) => TextPosition {
  /** The starts of lines 1, 257, 513 and so on. */
  let marks: readonly number[] | undefined;
  /** The last line that was found: a line may be as long as the text, whose end is not looked for each time. */
  let last: Line = { line: 0, start: 0, end: -1 };
  return (offset) => {
    if (offset < last.start || offset > last.end) last = findLine(text, (marks ??= marksOf(text)), offset);
    return { line: last.line, column: offset - last.start + 1 };
  };
}

function findLine(text: string, marks: readonly number[], offset: number): Line {
  let low = 0;
  let high = marks.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((marks[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  let line = low * linesPerMark + 1;
  let start = marks[low] ?? 0;
  for (;;) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    if (offset <= end || newline < 0) return { line, start, end };
    start = end + 1;
    line++;
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
