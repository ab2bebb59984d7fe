import { isJsonObject, type JsonValue } from "@bunting/protocol";
import type { Flag } from "./flag.js";

/** True if two flags mean the same, however their definitions were written. */
export function isSameFlag(a: Flag, b: Flag): boolean {
  return (
    a.key === b.key &&
    a.state === b.state &&
    a.defaultVariant === b.defaultVariant &&
    a.flagSetId === b.flagSetId &&
    a.source === b.source &&
    a.sourceIndex === b.sourceIndex &&
    isSameJson(a.metadata, b.metadata) &&
    hasSameVariants(a.variants, b.variants) &&
    (a.targeting === undefined || b.targeting === undefined
      ? a.targeting === b.targeting
      : isSameJson(a.targeting, b.targeting))
  );
}

/** Equality of JSON values; the order of keys does not matter. */
export function isSameJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && isSameList(a as readonly JsonValue[], b as readonly JsonValue[]);
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key] ?? null, b[key] ?? null));
}

function isSameList(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  return a.length === b.length && a.every((item, i) => isSameJson(item, b[i] ?? null));
}

export function hasSameVariants(a: Flag["variants"], b: Flag["variants"]): boolean {
  if (a.size !== b.size) return false;
  for (const [name, value] of a) {
    const other = b.get(name);
    if (other === undefined || !isSameJson(value, other)) return false;
  }
  return true;
}
