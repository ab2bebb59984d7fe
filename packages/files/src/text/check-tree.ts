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
  new TreeCheck(limits, heapBytes).measure(tree.contents, 0);
}

class TreeCheck {
  readonly #limits: TextLimits;
  readonly #heapBytes: number;
  readonly #anchors = new Map<string, Size | "open">();
  #values = 0;
  #bytes = 0;
  #repeatedHeap = 0;

  constructor(limits: TextLimits, heapBytes: number) {
    this.#limits = limits;
    this.#heapBytes = heapBytes;
  }

  measure(node: unknown, depth: number): Size {
    const { maxDepth } = this.#limits;
    if (depth > maxDepth) throw tooDeep(startOf(node), maxDepth);
    if (isAlias(node)) return this.#repeat(node, depth);
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, "open");
    const own = ownBytes(node);
    this.#count(1, own, node);
    let values = 1;
    let bytes = own;
    let height = 0;
    for (const part of this.#partsOf(node)) {
      const size = this.measure(part, depth + 1);
      values += size.values;
      bytes += size.bytes;
      height = Math.max(height, size.height + 1);
    }
    const size = { values, bytes, height };
    if (anchor !== undefined) this.#anchors.set(anchor, size);
    return size;
  }

  #repeat(alias: Alias, depth: number): Size {
    const { maxDepth } = this.#limits;
    const { source } = alias;
    const size = this.#anchors.get(source);
    if (size === undefined) {
      const message = `the alias *${source} stands for nothing: no &${source} comes before it`;
      throw new TextReadError("syntax", startOf(alias), message);
    }
    if (size === "open") throw new TextReadError("syntax", startOf(alias), `*${source} contains itself`);
    if (depth + size.height > maxDepth) throw tooDeep(startOf(alias), maxDepth);
    this.#count(size.values, size.bytes, alias);
    this.#repeatedHeap += size.values * heapPerRepeatedValue + size.bytes * heapPerRepeatedByte;
    if (this.#repeatedHeap > this.#heapBytes) throw tooManyRepeated(startOf(alias));
    return size;
  }

  #partsOf(node: unknown): readonly unknown[] {
    if (isMap(node)) {
      checkKeys(node);
      // A key may carry an anchor, too.
      return node.items.flatMap(({ key, value }) =>
        isScalar(key) && key.anchor === undefined ? [value] : [key, value],
      );
    }
    if (isSeq(node)) return node.items;
    if (isScalar(node) && typeof node.value === "number" && !Number.isFinite(node.value)) {
      const message = `${node.source ?? String(node.value)} is a number that JSON does not have`;
      throw new TextReadError("syntax", startOf(node), message);
    }
    return [];
  }

  #count(values: number, bytes: number, node: unknown): void {
    const { maxValues, maxJsonBytes } = this.#limits;
    this.#values += values;
    this.#bytes += bytes;
    if (this.#bytes > maxJsonBytes) throw tooLong(startOf(node), maxJsonBytes);
    if (this.#values <= maxValues) return;
    const message = `there are more than ${maxValues} values, with all aliases written out`;
    throw new TextReadError("syntax", startOf(node), message);
  }
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
    if (seen.has(key.value)) {
      const message = `duplicate key ${JSON.stringify(key.value)}`;
      throw new TextReadError("syntax", startOf(key), message);
    }
    seen.add(key.value);
  }
}
