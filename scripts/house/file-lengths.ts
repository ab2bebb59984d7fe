import { countOf, type Figure, type Offender } from "./figure.js";
import { lineCount, type ProductFile } from "./product-file.js";

/** A longer file is asked why. */
export const mostFileLines = 350;

/** How many lines the product has, how long its longest file is, and how many files are too long. */
export function fileLengths(files: readonly ProductFile[]): Figure[] {
  const lengths = files.map(({ file, text }) => ({ file, lines: lineCount(text) }));
  lengths.sort((a, b) => b.lines - a.lines);
  const places = lengths.map(({ file, lines }): Offender => ({ file, line: 1, text: `${lines} lines` }));
  return [
    { name: "product lines", now: lengths.reduce((sum, { lines }) => sum + lines, 0), offenders: [] },
    { name: "longest file", now: lengths[0]?.lines ?? 0, offenders: places.slice(0, 1) },
    countOf(
      `files over ${mostFileLines} lines`,
      places.slice(0, lengths.filter(({ lines }) => lines > mostFileLines).length),
    ),
  ];
}
