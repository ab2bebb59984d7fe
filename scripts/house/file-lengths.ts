import { countOf, type Figure, type Offender } from "./figure.js";
import { lineCount, type ProductFile } from "./product-file.js";

/** A longer file is asked why. */
export const mostFileLines = 350;

/** The lines of the operator and of its commands are not those of the data plane, whose size the bound is about. */
const ofOperator = ["packages/operator/", "packages/cli/src/operator/"];
const isDataPlane = (file: string): boolean => !ofOperator.some((directory) => file.startsWith(directory));

/** How many lines the product has without the operator, how long its longest file is, and how many files are too long. */
export function fileLengths(files: readonly ProductFile[]): Figure[] {
  const lengths = files.map(({ file, text }) => ({ file, lines: lineCount(text) }));
  lengths.sort((a, b) => b.lines - a.lines);
  const places = lengths.map(({ file, lines }): Offender => ({ file, line: 1, text: `${lines} lines` }));
  const ofDataPlane = lengths.filter(({ file }) => isDataPlane(file));
  return [
    { name: "product lines", now: ofDataPlane.reduce((sum, { lines }) => sum + lines, 0), offenders: [] },
    { name: "longest file", now: lengths[0]?.lines ?? 0, offenders: places.slice(0, 1) },
    countOf(
      `files over ${mostFileLines} lines`,
      places.slice(0, lengths.filter(({ lines }) => lines > mostFileLines).length),
    ),
  ];
}
