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
 */
export class JsonPlaces {
  readonly #text: string;
  readonly #limits: TextLimits;
  readonly #start: number;
  readonly #last: Children[] = [];

  /** `start` is where the value begins in which paths are looked up. */
  constructor(text: string, limits: TextLimits, start: number) {
    this.#text = text;
    this.#limits = limits;
    this.#start = start;
  }

  offsetOf(path: readonly string[]): number {
    let found = this.#start;
    let start = this.#start;
    for (const [depth, key] of path.entries()) {
      const place = this.#childrenAt(depth, start).places.get(key);
      if (place === undefined) break;
      found = place.offset;
      start = place.valueOffset;
    }
    return found;
  }

  #childrenAt(depth: number, start: number): Children {
    const last = this.#last[depth];
    if (last?.start === start) return last;
    const places = new Map<string, { readonly offset: number; readonly valueOffset: number }>();
    const note = (key: string, offset: number, valueOffset: number): void =>
      void places.set(key, { offset, valueOffset });
    scanJson(this.#text, this.#limits, start, note, () => undefined);
    const children = { start, places };
    this.#last[depth] = children;
    return children;
  }
}
