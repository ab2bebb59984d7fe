import { compareUtf8 } from "@bunting/protocol";
import { compareFlagSetIds, type Flag } from "./flag.js";
import { CompiledFlag } from "./compiled-flag.js";

export type FlagFilter = (flag: Flag) => boolean;

/** A flag's place in the sorted list: it stays when the flag is replaced. */
interface Place {
  compiled: CompiledFlag;
}

/** A flag as it is listed among all, and the one that answers for its key. */
export interface ListedFlag {
  readonly flag: Flag;
  readonly winner: CompiledFlag;
}

/** With more new or removed flags than this at once, the list is sorted again instead of changed flag by flag. */
const maxMoves = 64;

/**
 * The flags that are served, found by key or iterated in order. Several flag sets may have the same key. An update costs as much as it
 * changed, not as much as there is.
 */
export class FlagIndex {
  /** By key: one place for each flag set, in the order in which an evaluation without a selector prefers them. */
  readonly #byKey = new Map<string, Place[]>();
  /** By flagSetId, then key; undefined until it is needed. */
  #sorted: Place[] | undefined;

  /**
   * The one flag of this key that is evaluated. Without a selector it is that of the latest source and, within it, of the last flag set;
   * with a selector it is, as in flagd, that of the latest source and the first flag set that fit.
   */
  winner(key: string, fits: FlagFilter | undefined): CompiledFlag | undefined {
    const places = this.#byKey.get(key);
    return fits === undefined || places === undefined ? places?.[0]?.compiled : firstSet(places, fits);
  }

  /** Each flag that is selected, by flagSetId, then key, with the winner of its key: what an evaluation of that key answers. */
  *listed(fits: FlagFilter | undefined): IterableIterator<ListedFlag> {
    this.#sorted ??= [...this.#byKey.values()]
      .flat()
      .sort((a, b) => compareIdentity(a.compiled.flag, b.compiled.flag));
    const isEachKeyUnique = this.#sorted.length === this.#byKey.size;
    for (const { compiled } of this.#sorted) {
      const { flag } = compiled;
      if (fits !== undefined && !fits(flag)) continue;
      yield { flag, winner: isEachKeyUnique ? compiled : (this.winner(flag.key, fits) ?? compiled) };
    }
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

/** The flag of the first set that fits, among those of the latest source that has one. */
function firstSet(places: readonly Place[], fits: FlagFilter): CompiledFlag | undefined {
  let best: CompiledFlag | undefined;
  for (const { compiled } of places) {
    if (best !== undefined && compiled.flag.sourceIndex < best.flag.sourceIndex) break;
    if (fits(compiled.flag)) best = compiled;
  }
  return best;
}

/** The index of the first flag that does not sort before this one. */
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
  return compareFlagSetIds(a.flagSetId, b.flagSetId) || compareUtf8(a.key, b.key);
}

/** The latest source first; of one source, the last flag set first. */
function byPreference(a: Place, b: Place): number {
  return (
    b.compiled.flag.sourceIndex - a.compiled.flag.sourceIndex ||
    compareFlagSetIds(b.compiled.flag.flagSetId, a.compiled.flag.flagSetId)
  );
}
