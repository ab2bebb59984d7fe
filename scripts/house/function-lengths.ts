import ts from "typescript";
import { countOf, type Figure, type Offender } from "./figure.js";
import { forEachNode, lineOf, type ProductFile } from "./product-file.js";

/** A longer function is chapters without titles. */
export const mostFunctionLines = 90;

/** How long the longest function is, and how many are too long. What is declared inside of a function counts as its lines too. */
export function functionLengths(files: readonly ProductFile[]): Figure[] {
  const lengths: { readonly lines: number; readonly place: Offender }[] = [];
  for (const product of files) {
    forEachNode(product.source, (node) => {
      if (!isWithBody(node)) return;
      const line = lineOf(product, node);
      const lines = product.source.getLineAndCharacterOfPosition(node.end).line + 2 - line;
      lengths.push({ lines, place: { file: product.file, line, text: `${nameOf(node)}: ${lines} lines` } });
    });
  }
  lengths.sort((a, b) => b.lines - a.lines);
  const tooLong = lengths.filter(({ lines }) => lines > mostFunctionLines).map(({ place }) => place);
  return [
    {
      name: "longest function",
      now: lengths[0]?.lines ?? 0,
      offenders: lengths.slice(0, 1).map(({ place }) => place),
    },
    countOf(`functions over ${mostFunctionLines} lines`, tooLong),
  ];
}

function isWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && "body" in node && node.body !== undefined;
}

function nameOf(node: ts.FunctionLikeDeclaration): string {
  const holder = ts.isClassLike(node.parent) ? `${node.parent.name?.text ?? "class"}.` : "";
  if (ts.isConstructorDeclaration(node)) return `${holder}constructor`;
  if (node.name !== undefined) return `${holder}${node.name.getText()}`;
  return ts.isVariableDeclaration(node.parent) ? node.parent.name.getText() : "a callback";
}
