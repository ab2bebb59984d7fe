import type { JsonObject, JsonValue } from "./json.js";

/**
 * Writes JSON with the keys in UTF-8 order at every level and without white space: equal values give equal bytes.
 *
 * Our own writer, because sorting keys into a plain object loses a key called `__proto__` and puts integer keys first, in numeric order.
 * The three keys of a flag document have a fixed order instead (`flags`, `metadata`, `$evaluators`): see flag-document.ts.
 */
export function canonicalJson(value: JsonValue): string {
  if (isScalar(value)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    const list = value as readonly JsonValue[];
    // The engine makes no string for each item.
    return list.every(isScalar) ? JSON.stringify(list) : `[${joined(list, canonicalJson)}]`;
  }
  const object = value as JsonObject;
  const keys = Object.keys(object).sort(compareUtf8);
  return `{${joined(keys, (key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`)}}`;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}

/** So many texts are joined at a time: one for each of a million items takes many times the memory of the result. */
const itemsAtOnce = 1024;

function joined<Item>(items: readonly Item[], textOf: (item: Item) => string): string {
  if (items.length <= itemsAtOnce) return items.map(textOf).join(",");
  const parts: string[] = [];
  for (let i = 0; i < items.length; i += itemsAtOnce) {
    const part = items.slice(i, i + itemsAtOnce);
    parts.push(part.map(textOf).join(","));
  }
  return parts.join(",");
}

/**
 * Orders strings by their UTF-8 bytes. UTF-16 order, which `<` gives, differs only where a surrogate meets a unit above the
 * surrogates; everything else is compared directly.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y)
      return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : isSurrogate(y) ? -1 : x - y;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
