import { isAlias, isMap, isScalar, isSeq, type Alias, type Document, type YAMLMap } from "yaml";
import type { TextLimits } from "./text-limits.js";
import { TextReadError, tooDeep, tooLong, tooManyRepeated } from "./text-read-error.js";
import { startOf } from "./yaml-tree.js";

/** What a value takes on the heap that an alias or merge repeats, until later stages have written it out. */
const heapPerRepeatedValue = 200;

/** What each byte of its JSON takes there: the text of an inner value is copied into that of the outer ones. */
const heapPerRepeatedByte = 4;

/** What a node amounts to with its aliases written out. */
interface Size {
  readonly values: number;
  /** Of its JSON, a comma or colon included. */
  readonly bytes: number;
  readonly height: number;
}

/**
 * Checks the syntax tree of a YAML document before values are made of it.
 *
 * @param heapBytes what its values may take
 * @throws TextReadError where it says something that JSON can't say or that can't be meant: a key twice, an alias that contains itself; and
 * where there are more values, or more bytes of them, than `limits` allow.
 */
export function checkTree(tree: Document.Parsed, limits: TextLimits, heapBytes: number): void {
  const { maxDepth, maxValues, maxJsonBytes } = limits;
  const anchors = new Map<string, Size | "open">();
  let allValues = 0;
  let allBytes = 0;
  let repeatedHeap = 0;

  const measure = (node: unknown, depth: number): Size => {
    if (depth > maxDepth) throw tooDeep(startOf(node), maxDepth);
    if (isAlias(node)) return repeat(node, depth);
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
    if (anchor !== undefined) anchors.set(anchor, "open");
    const own = ownBytes(node);
    count(1, own, node);
    let values = 1;
    let bytes = own;
    let height = 0;
    for (const part of partsOf(node)) {
      const size = measure(part, depth + 1);
      values += size.values;
      bytes += size.bytes;
      height = Math.max(height, size.height + 1);
    }
    const size = { values, bytes, height };
    if (anchor !== undefined) anchors.set(anchor, size);
    return size;
  };

  const repeat = (alias: Alias, depth: number): Size => {
    const { source } = alias;
    const size = anchors.get(source);
    if (size === undefined)
      throw syntaxError(alias, `the alias *${source} stands for nothing: no &${source} comes before it`);
    if (size === "open") throw syntaxError(alias, `*${source} contains itself`);
    if (depth + size.height > maxDepth) throw tooDeep(startOf(alias), maxDepth);
    count(size.values, size.bytes, alias);
    repeatedHeap += size.values * heapPerRepeatedValue + size.bytes * heapPerRepeatedByte;
    if (repeatedHeap > heapBytes) throw tooManyRepeated(startOf(alias));
    return size;
  };

  const count = (values: number, bytes: number, node: unknown): void => {
    allValues += values;
    allBytes += bytes;
    if (allBytes > maxJsonBytes) throw tooLong(startOf(node), maxJsonBytes);
    if (allValues > maxValues)
      throw syntaxError(node, `there are more than ${maxValues} values, with all aliases written out`);
  };

  measure(tree.contents, 0);
}

function syntaxError(node: unknown, message: string): TextReadError {
  return new TextReadError("syntax", startOf(node), message);
}

function partsOf(node: unknown): readonly unknown[] {
  if (isMap(node)) {
    checkKeys(node);
    // A key may carry an anchor, too.
    return node.items.flatMap(({ key, value }) =>
      isScalar(key) && key.anchor === undefined ? [value] : [key, value],
    );
  }
  if (isSeq(node)) return node.items;
  if (isScalar(node) && typeof node.value === "number" && !Number.isFinite(node.value))
    throw syntaxError(node, `${node.source ?? String(node.value)} is a number that JSON does not have`);
  return [];
}

/** The bytes of JSON of a scalar, or of the keys and brackets of a collection. */
function ownBytes(node: unknown): number {
  if (isScalar(node)) return 1 + bytesOf(node.value);
  if (!isMap(node)) return 3;
  return node.items.reduce((bytes, { key }) => bytes + 1 + (isScalar(key) ? bytesOf(key.value) : 0), 3);
}

function bytesOf(value: unknown): number {
  return typeof value === "string" ? Buffer.byteLength(JSON.stringify(value)) : String(value).length;
}

function checkKeys({ items }: YAMLMap): void {
  const seen = new Set<string>();
  for (const { key } of items) {
    if (!isScalar(key) || typeof key.value !== "string") continue;
    if (seen.has(key.value)) throw syntaxError(key, `duplicate key ${JSON.stringify(key.value)}`);
    seen.add(key.value);
  }
}
