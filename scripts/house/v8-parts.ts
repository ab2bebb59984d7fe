import ts from "typescript";
import { countOf, type Figure, type Offender } from "./figure.js";
import { forEachNode, lineOf, type ProductFile } from "./product-file.js";

/** The one file that collects garbage and sets flags of V8, and the one that reads the heap. */
const homes: Readonly<Record<string, string>> = {
  gc: "packages/runtime/src/memory/v8-control.ts",
  setFlagsFromString: "packages/runtime/src/memory/v8-control.ts",
  getHeapStatistics: "packages/runtime/src/memory/heap.ts",
};

/**
 * The files that collect garbage, set flags of V8 or read its heap by themselves. Flags and collections are for the whole process: two files
 * that set the same flag undo each other's work, and two that read the heap have two opinions of what its limit is.
 */
export function v8Parts(files: readonly ProductFile[]): Figure {
  const offenders: Offender[] = [];
  for (const product of files) {
    const found = new Map<string, number>();
    forEachNode(product.source, (node) => {
      const name = ts.isIdentifier(node) || ts.isStringLiteralLike(node) ? node.text : "";
      // The string is the name of performance entries, too.
      const isMeant =
        Object.hasOwn(homes, name) && (ts.isIdentifier(node) || ts.isElementAccessExpression(node.parent));
      if (isMeant && homes[name] !== product.file && !found.has(name)) found.set(name, lineOf(product, node));
    });
    const [line] = found.values();
    if (line !== undefined) offenders.push({ file: product.file, line, text: [...found.keys()].join(", ") });
  }
  return countOf("files with V8's heap of their own", offenders);
}
