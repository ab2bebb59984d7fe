import { compareUtf8 } from "@bunting/protocol";
import type { Flag } from "./flag.js";
import { CompiledFlag } from "./compiled-flag.js";

/** Where a flag lies in the sorted list. It stays when the flag is replaced. */
interface Place {
  compiled: CompiledFlag;
}

/** More new or gone flags than this at once, and the list is sorted anew instead of moved piece by piece. */
const maxMoves = 64;

/**
 * The flags that are served, to be found by key and to be gone through in order. The same key may be in several flag sets. An update costs
 * what changed, not what there is.
 */
export class FlagIndex {
  /** By key: one place a flag set, in the order in which an evaluation without a selector prefers them. */
  readonly #byKey = new Map<string, Place[]>();
  /** By flagSetId, then key; undefined until someone asks. */
  #sorted: Place[] | undefined;

  /** The flag of this key that an evaluation without a selector means. */
  first(key: string): CompiledFlag | undefined {
    return this.#byKey.get(key)?.[0]?.compiled;
  }

  /**
   * The flag of this key that an evaluation with a selector means. Where several fit they are of the selected source; flagd then takes
   * that of the first flag set, and without a selector that of the last.
   */
  select(key: string, fits: (flag: Flag) => boolean): CompiledFlag | undefined {
    let best: CompiledFlag | undefined;
    for (const { compiled } of this.#byKey.get(key) ?? []) {
      if (best !== undefined && compiled.flag.sourceIndex < best.flag.sourceIndex) break;
      if (fits(compiled.flag)) best = compiled;
    }
    return best;
  }

  /** All flags, by flagSetId, then key. */
  *all(): IterableIterator<CompiledFlag> {
    this.#sorted ??= [...this.#byKey.values()]
      .flat()
      .sort((a, b) => compareIdentity(a.compiled.flag, b.compiled.flag));
    for (const { compiled } of this.#sorted) yield compiled;
  }

  put(flags: readonly Flag[]): void {
    const added: Place[] = [];
    for (const flag of flags) {
      let places = this.#byKey.get(flag.key);
      if (places === undefined) this.#byKey.set(flag.key, (places = []));
      const place = places.find(({ compiled }) => compiled.flag.flagSetId === flag.flagSetId);
      if (place?.compiled.flag === flag) continue;
      const compiled = new CompiledFlag(flag);
      if (place === undefined) {
        const newPlace = { compiled };
        places.push(newPlace);
        added.push(newPlace);
      } else place.compiled = compiled;
      if (places.length > 1) places.sort(byPreference);
    }
    this.#addSorted(added);
  }

  remove(flags: readonly Flag[]): void {
    const removed: Flag[] = [];
    for (const flag of flags) {
      const places = this.#byKey.get(flag.key);
      const index = places?.findIndex(({ compiled }) => compiled.flag.flagSetId === flag.flagSetId) ?? -1;
      if (places === undefined || index < 0) continue;
      if (places.length === 1) this.#byKey.delete(flag.key);
      else places.splice(index, 1);
      removed.push(flag);
    }
    if (removed.length > maxMoves) this.#sorted = undefined;
    else for (const flag of removed) this.#sorted?.splice(placeOf(this.#sorted, flag), 1);
  }

  #addSorted(added: readonly Place[]): void {
    if (added.length > maxMoves) this.#sorted = undefined;
    else
      for (const place of added) this.#sorted?.splice(placeOf(this.#sorted, place.compiled.flag), 0, place);
  }
}

/** The place of the first flag that does not come before this one. */
function placeOf(sorted: readonly Place[], flag: Flag): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const place = sorted[middle];
    if (place !== undefined && compareIdentity(place.compiled.flag, flag) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareIdentity(a: Flag, b: Flag): number {
  return compareUtf8(a.flagSetId, b.flagSetId) || compareUtf8(a.key, b.key);
}

/** The latest source first; of one source, the last flag set first. */
function byPreference(a: Place, b: Place): number {
  return (
    b.compiled.flag.sourceIndex - a.compiled.flag.sourceIndex ||
    compareUtf8(b.compiled.flag.flagSetId, a.compiled.flag.flagSetId)
  );
}
