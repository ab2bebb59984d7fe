import { importCircles } from "../imports/import-circles.js";
import type { ImportGraph } from "../imports/import-graph.js";
import { countOf, type Figure } from "./figure.js";

/** The groups of files that import each other, types included. */
export function circles(files: Iterable<string>, graph: ImportGraph): Figure {
  const found = importCircles(files, (file) => graph.imported(file));
  return countOf(
    "import circles",
    found.map((group) => ({ file: group[0] ?? "", line: 1, text: group.join(" ↔ ") })),
  );
}
