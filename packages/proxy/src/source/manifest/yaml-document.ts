import type { JsonValue } from "@bunting/protocol";
import { isAlias, isMap, isNode, isScalar, isSeq, Scalar, visit, type Document, type Node } from "yaml";
import { maxDepth, type ParsedDocument, type TextRemark } from "./parsed-text.js";
import { readAsYaml11 } from "./yaml-11.js";

export type LineAt = (offset: number) => number;

/** What keeps a YAML document from being read, and where. */
export class YamlTextError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** How often an anchor may be repeated by aliases, and how many values there may be with all of them written out. */
const maxAliasCount = 5_000;
const maxValues = 1_000_000;

/**
 * Turns a YAML document into JSON values and keeps the way back to its lines.
 *
 * @throws YamlTextError where it says something that JSON can't say, or that nobody can mean: a key twice, an alias that holds itself.
 */
export function readYamlDocument(document: Document.Parsed, lineAt: LineAt): ParsedDocument {
  const [error] = document.errors;
  if (error !== undefined) throw new YamlTextError(error.pos[0], error.message);
  checkNodes(document);
  const value = document.toJS({ maxAliasCount }) as JsonValue;
  countValues(value, maxValues, 0, startOf(document.contents));
  return {
    value,
    lineOf: (path) => lineAt(findOffset(document, path)),
    remarks: () => yamlRemarks(document, lineAt),
  };
}

function checkNodes(document: Document.Parsed): void {
  const anchors = new Map<string, Node>();
  visit(document, {
    Node: (_key, node, path) => {
      if (path.length > 2 * maxDepth) throw tooDeep(startOf(node));
      if (isAlias(node)) {
        const anchored = anchors.get(node.source);
        if (anchored === undefined) {
          throw new YamlTextError(
            startOf(node),
            `*${node.source} stands for nothing: no &${node.source} comes before it`,
          );
        }
        if (path.includes(anchored))
          throw new YamlTextError(startOf(node), `*${node.source} contains itself`);
      } else if (node.anchor !== undefined) {
        anchors.set(node.anchor, node);
      }
      if (isMap(node)) checkKeys(node.items.map(({ key }) => key));
      if (isScalar(node) && typeof node.value === "number" && !Number.isFinite(node.value)) {
        throw new YamlTextError(
          startOf(node),
          `${node.source ?? String(node.value)} is a number that JSON does not have`,
        );
      }
    },
  });
}

function checkKeys(keys: readonly unknown[]): void {
  const seen = new Set<string>();
  for (const key of keys) {
    if (!isScalar(key) || typeof key.value !== "string") continue;
    if (seen.has(key.value))
      throw new YamlTextError(startOf(key), `the key ${JSON.stringify(key.value)} is there twice`);
    seen.add(key.value);
  }
}

/** Counts what an alias repeats as often as it stands there: later stages write it out. Returns how many values are left. */
function countValues(value: JsonValue, left: number, depth: number, offset: number): number {
  if (left <= 0)
    throw new YamlTextError(offset, `there are more than ${maxValues} values, with all aliases written out`);
  if (depth > maxDepth) throw tooDeep(offset);
  if (typeof value !== "object" || value === null) return left - 1;
  let rest = left - 1;
  for (const part of Object.values<JsonValue>(value)) rest = countValues(part, rest, depth + 1, offset);
  return rest;
}

export function tooDeep(offset: number): YamlTextError {
  return new YamlTextError(offset, `values are nested more than ${maxDepth} deep`);
}

/** The offset of the key or item at the path, or of the nearest around it that is there. */
function findOffset(document: Document.Parsed, path: readonly string[]): number {
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

function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

/** Every plain scalar, keys too, that YAML 1.1 reads otherwise, and what the parser itself remarked. */
function yamlRemarks(document: Document.Parsed, lineAt: LineAt): TextRemark[] {
  const remarks: TextRemark[] = document.warnings.map((warning) => ({
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
      remarks.push({
        kind: "yaml_1_1",
        line: lineAt(range?.[0] ?? 0),
        message: `${source} is ${describe(value)} here, but YAML 1.1, which kubectl reads, makes ${describe(there)} of it: put it in quotes, or write it so that both agree`,
      });
    },
  });
  return remarks;
}

function describe(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(value)}`;
  if (value instanceof Date) return `the time ${value.toISOString()}`;
  return String(value);
}
