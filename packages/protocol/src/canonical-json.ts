import type { JsonObject, JsonValue } from "./json.js";

/**
 * Writes JSON with the keys in UTF-8 order at every level and without white space: equal values give equal bytes.
 *
 * Our own writer, because sorting keys into a plain object loses a key called `__proto__` and puts integer keys first, in numeric order.
 * The three keys of a flag document have a fixed order instead (`flags`, `metadata`, `$evaluators`): see flag-document.ts.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const object = value as JsonObject;
  const members = Object.keys(object)
    .sort(compareUtf8)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`);
  return `{${members.join(",")}}`;
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
