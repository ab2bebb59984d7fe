import type { JsonValue } from "@bunting/protocol";
import { isAlias, isMap, isScalar, isSeq, Scalar, type Document, type Pair } from "yaml";
import { TextReadError } from "./text-read-error.js";
import { startOf } from "./yaml-tree.js";

type Values = Record<string, JsonValue>;

/**
 * The values of a syntax tree that `checkTree` let through. What an alias repeats is one value, shared. The library's own `toJS` looks
 * through all anchors and aliases for each alias, and makes the values of a merged map again for each merge.
 */
export function valuesOf(tree: Document.Parsed): JsonValue {
  return new ValueMaker().valueOf(tree.contents);
}

class ValueMaker {
  readonly #anchors = new Map<string, JsonValue>();

  valueOf(node: unknown): JsonValue {
    if (isAlias(node)) return this.#anchors.get(node.source) ?? null;
    const value = this.#newValue(node);
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined)
      this.#anchors.set(node.anchor, value);
    return value;
  }

  #newValue(node: unknown): JsonValue {
    if (isSeq(node)) return node.items.map((item) => this.valueOf(item));
    if (isMap(node)) {
      const values: Values = {};
      for (const pair of node.items) this.#add(pair, values);
      return values;
    }
    return isScalar(node) ? ((node.value ?? null) as JsonValue) : null;
  }

  #add({ key, value }: Pair, values: Values): void {
    if (isMergeKey(key)) {
      this.#merge(value, values);
      return;
    }
    const name = this.valueOf(key);
    put(values, typeof name === "string" ? name : JSON.stringify(name), this.valueOf(value));
  }

  /** A key that is there already stays. */
  #merge(node: unknown, values: Values): void {
    const merged = this.valueOf(node);
    for (const source of Array.isArray(merged) ? (merged as readonly JsonValue[]) : [merged]) {
      if (typeof source !== "object" || source === null || Array.isArray(source))
        throw new TextReadError("syntax", startOf(node), "only a mapping, or a list of them, can be merged");
      for (const [key, value] of Object.entries(source as Values)) {
        if (!Object.hasOwn(values, key)) put(values, key, value);
      }
    }
  }
}

/** In quotes it is a key like any other. */
function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.type === Scalar.PLAIN && key.value === "<<";
}

/** Like an assignment, but a key called `__proto__` is a key like any other. */
function put(values: Values, key: string, value: JsonValue): void {
  if (key === "__proto__")
    Object.defineProperty(values, key, { value, writable: true, enumerable: true, configurable: true });
  else values[key] = value;
}
