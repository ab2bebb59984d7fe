import ts from "typescript";
import { countOf, type Figure, type Offender } from "./figure.js";
import { forEachNode, lineOf, type ProductFile } from "./product-file.js";

/** The one door to them, where a self-check proves that each is there. */
const home = "/node-internals/";

/** Parts that node does not document, under any object. */
const privateNames = new Set([
  ...["_handle", "_parent", "_httpMessage", "_readableState", "_writableState", "_server", "_header"],
  ...["_implicitHeader", "_events", "_hadError", "_getActiveHandles", "onIncoming"],
  ...["kOnHeaders", "kOnHeadersComplete", "kOnBody", "kOnMessageComplete", "kOnExecute", "kHandle"],
]);

/** Events that only node's own servers and streams emit. */
const nodeEvents = new Set(["connection", "secureConnection", "listening", "request", "upgrade"]);

/** Methods of node's streams and modules that may not be replaced. */
const nodeMethods = new Set(["connect", "request", "push", "read", "write", "end", "emit", "destroy"]);

/**
 * The files that reach into node: private parts, methods of node's objects that are replaced, and node's events that are emitted by us.
 * A new version of node may take any of these away.
 */
export function nodeParts(files: readonly ProductFile[]): Figure {
  const offenders: Offender[] = [];
  for (const product of files.filter(({ file }) => !file.includes(home))) {
    const found = new Map<string, number>();
    forEachNode(product.source, (node) => {
      const part = partOf(node);
      if (part !== undefined && !found.has(part)) found.set(part, lineOf(product, node));
    });
    const [line] = found.values();
    if (line !== undefined) offenders.push({ file: product.file, line, text: [...found.keys()].join(", ") });
  }
  return countOf("files with private parts of node", offenders);
}

function partOf(node: ts.Node): string | undefined {
  if ((ts.isIdentifier(node) || ts.isStringLiteralLike(node)) && privateNames.has(node.text))
    return node.text;
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    const method = foreignMember(node.left);
    return method !== undefined && nodeMethods.has(method) ? `${node.left.getText()} = …` : undefined;
  }
  if (ts.isCallExpression(node) && foreignMember(node.expression) === "emit") {
    const [event] = node.arguments;
    const isOfNode = event !== undefined && ts.isStringLiteral(event) && nodeEvents.has(event.text);
    return isOfNode ? `emit(${event.getText()})` : undefined;
  }
  return undefined;
}

/** `a.b` and `this.#a.b`, but not `this.b`, which is the object's own. */
function foreignMember(node: ts.Expression): string | undefined {
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  return node.expression.kind === ts.SyntaxKind.ThisKeyword ? undefined : node.name.text;
}
