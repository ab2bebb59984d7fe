import type { JsonValue } from "@bunting/protocol";
import { isAlias, isMap, isScalar, isSeq, Scalar, type Document } from "yaml";
import { TextReadError } from "./text-read-error.js";
import { startOf } from "./yaml-tree.js";

type Values = Record<string, JsonValue>;

/**
 * The values of a syntax tree that `checkTree` let through. What an alias repeats is one value, shared. The library's own `toJS` looks
 * through all anchors and aliases for each alias, and makes the values of a merged map again for each merge.
 */
export function valuesOf(tree: Document.Parsed): JsonValue {
  const anchors = new Map<string, JsonValue>();

  const valueOf = (node: unknown): JsonValue => {
    if (isAlias(node)) return anchors.get(node.source) ?? null;
    const value = newValue(node);
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined)
      anchors.set(node.anchor, value);
    return value;
  };

  const newValue = (node: unknown): JsonValue => {
    if (isSeq(node)) return node.items.map(valueOf);
    if (!isMap(node)) return isScalar(node) ? ((node.value ?? null) as JsonValue) : null;
    const values: Values = {};
    for (const { key, value } of node.items) {
      if (isMergeKey(key)) {
        merge(valueOf(value), values, value);
        continue;
      }
      const name = valueOf(key);
      put(values, typeof name === "string" ? name : JSON.stringify(name), valueOf(value));
    }
    return values;
  };

  return valueOf(tree.contents);
}

/** A key that is there already stays. */
function merge(merged: JsonValue, values: Values, node: unknown): void {
  for (const source of Array.isArray(merged) ? (merged as readonly JsonValue[]) : [merged]) {
    if (typeof source !== "object" || source === null || Array.isArray(source))
      throw new TextReadError("syntax", startOf(node), "only a mapping, or a list of them, can be merged");
    for (const [key, value] of Object.entries(source as Values)) {
      if (!Object.hasOwn(values, key)) put(values, key, value);
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
