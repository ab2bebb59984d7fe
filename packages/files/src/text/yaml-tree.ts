import { isAlias, isMap, isNode, isScalar, isSeq, Scalar, visit, type Document } from "yaml";
import type { TextWarning } from "./parsed-text.js";
import { readAsYaml11 } from "./yaml-11.js";

/** The offset of the key or item at the path, or of the nearest around it that is there. */
export function findOffset(document: Document.Parsed, path: readonly string[]): number {
  let offset = startOf(document.contents);
  let node: unknown = document.contents;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) break;
      offset = startOf(pair.key);
      node = pair.value;
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(step)];
      if (item === undefined) break;
      offset = startOf(item);
      node = item;
    } else {
      break;
    }
  }
  return offset;
}

export function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

/** A warning for every plain scalar, keys too, that YAML 1.1 reads otherwise, and those of the parser itself. */
export function warningsOf(document: Document.Parsed, lineAt: (offset: number) => number): TextWarning[] {
  const warnings: TextWarning[] = document.warnings.map((warning) => ({
    kind: "other",
    line: lineAt(warning.pos[0]),
    message: warning.message,
  }));
  // Most scalars of a document stand in it many times over.
  const read = new Map<string, unknown>();
  const readOnce = (source: string): unknown => {
    if (!read.has(source)) read.set(source, readAsYaml11(source));
    return read.get(source);
  };
  visit(document, {
    Scalar: (place, { type, tag, source, value, range }) => {
      if (type !== Scalar.PLAIN || tag !== undefined || source === undefined || typeof value === "symbol")
        return;
      const there = readOnce(source);
      const isSame = place === "key" ? String(there) === value : there === value;
      if (isSame) return;
      warnings.push({
        kind: "yaml_1_1",
        line: lineAt(range?.[0] ?? 0),
        message: `${source} is ${describe(value)} here, but YAML 1.1, which kubectl reads, makes ${describe(there)} of it: put it in quotes, or write it so that both agree`,
      });
    },
  });
  return warnings;
}

function describe(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(value)}`;
  if (value instanceof Date) return `the time ${value.toISOString()}`;
  return String(value);
}
