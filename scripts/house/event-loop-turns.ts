import ts from "typescript";
import { countOf, type Figure, type Offender } from "./figure.js";
import { forEachNode, lineOf, type ProductFile } from "./product-file.js";

/** Where turns of the event loop are handed out, so that nobody else has to. */
const home = /^packages\/(runtime\/src\/scheduling|rpc\/src\/http2|http2)\//;

/** The files that use setImmediate outside of runtime/scheduling and the HTTP/2 engine. */
export function eventLoopTurns(files: readonly ProductFile[]): Figure {
  const offenders: Offender[] = [];
  for (const product of files.filter(({ file }) => !home.test(file))) {
    const lines: number[] = [];
    forEachNode(product.source, (node) => {
      if (ts.isIdentifier(node) && node.text === "setImmediate") lines.push(lineOf(product, node));
    });
    const [line] = lines;
    if (line !== undefined) offenders.push({ file: product.file, line, text: `${lines.length} times` });
  }
  return countOf("files with setImmediate of their own", offenders);
}
