import type { ImportGraph } from "../imports/import-graph.js";
import { circles } from "./circles.js";
import { eventLoopTurns } from "./event-loop-turns.js";
import type { Figure } from "./figure.js";
import { fileLengths } from "./file-lengths.js";
import { functionLengths } from "./function-lengths.js";
import { mutableFields } from "./mutable-fields.js";
import { nodeParts } from "./node-parts.js";
import { optionBags } from "./option-bags.js";
import type { ProductFile } from "./product-file.js";
import { repeatedNames } from "./repeated-names.js";
import { v8Parts } from "./v8-parts.js";

/** All that is counted. A new figure gets its line here, its bound in bounds.json, and a test with a tiny source. */
export function houseFigures(files: readonly ProductFile[], graph: ImportGraph): Figure[] {
  return [
    ...fileLengths(files),
    ...functionLengths(files),
    circles(
      files.map(({ file }) => file),
      graph,
    ),
    optionBags(files),
    ...repeatedNames(files),
    eventLoopTurns(files),
    nodeParts(files),
    v8Parts(files),
    mutableFields(files),
  ];
}
