import { scanJson } from "./scan-json.js";
import type { TextLimits } from "./text-limits.js";

/** The keys or items directly in one object or array. */
interface Children {
  readonly start: number;
  readonly places: ReadonlyMap<string, { readonly offset: number; readonly valueOffset: number }>;
}

/**
 * Finds where in a text of valid JSON the key or item at a path begins, or the nearest around it. Of each depth it keeps the object or array
 * of the last path: paths come in the order of the text, so that each part of the text is scanned a few times, however many paths are
 * looked up.
 *
 * @param valueStart where the value begins in which paths are looked up
 */
export function jsonPlaces(
  text: string,
  limits: TextLimits,
  valueStart: number,
): (path: readonly string[]) => number {
  const last: Children[] = [];

  const childrenAt = (depth: number, start: number): Children => {
    const known = last[depth];
    if (known?.start === start) return known;
    const places = new Map<string, { readonly offset: number; readonly valueOffset: number }>();
    const note = (key: string, offset: number, valueOffset: number): void =>
      void places.set(key, { offset, valueOffset });
    scanJson(text, limits, start, note, () => undefined);
    return (last[depth] = { start, places });
  };

  return (path) => {
    let found = valueStart;
    let start = valueStart;
    for (const [depth, key] of path.entries()) {
      const place = childrenAt(depth, start).places.get(key);
      if (place === undefined) break;
      found = place.offset;
      start = place.valueOffset;
    }
    return found;
  };
}
