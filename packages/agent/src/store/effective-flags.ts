import { compareFlagSetIds, type Flag } from "@bunting/evaluation";
import { compareUtf8 } from "@bunting/protocol";
import { identity } from "./flag-change.js";

/** Of all flags with the same flagSetId and key, the one that is served: that of the latest source. */
export class EffectiveFlags {
  readonly #sets = new Map<string, Map<string, Flag>>();
  #size = 0;
  #sorted: readonly Flag[] | undefined;

  get size(): number {
    return this.#size;
  }

  get(flagSetId: string, key: string): Flag | undefined {
    return this.#sets.get(flagSetId)?.get(key);
  }

  /** All of them, by flagSetId, then key. The list is never changed. */
  sorted(): readonly Flag[] {
    this.#sorted ??= Array.from(this.#sets.values(), (set) => [...set.values()])
      .flat()
      .sort((a, b) => compareFlagSetIds(a.flagSetId, b.flagSetId) || compareUtf8(a.key, b.key));
    return this.#sorted;
  }

  /** Serves a flag, unless one of a later source is. */
  put(flag: Flag): void {
    const served = this.get(flag.flagSetId, flag.key);
    if (served !== undefined && served.sourceIndex > flag.sourceIndex) return;
    let set = this.#sets.get(flag.flagSetId);
    if (set === undefined) this.#sets.set(flag.flagSetId, (set = new Map<string, Flag>()));
    if (served === undefined) this.#size++;
    set.set(flag.key, flag);
    this.#sorted = undefined;
  }

  /** Serves flags no more, and instead of them those of other sources. */
  remove(flags: readonly Flag[], others: readonly (readonly (Flag | undefined)[])[]): void {
    const gone = new Set(flags.filter((flag) => this.#drop(flag)).map(identity));
    if (gone.size === 0) return;
    for (const other of others)
      for (const flag of other) if (flag !== undefined && gone.has(identity(flag))) this.put(flag);
  }

  /** False if it is not served. */
  #drop(flag: Flag): boolean {
    const { flagSetId, key } = flag;
    const set = this.#sets.get(flagSetId);
    if (set?.get(key) !== flag) return false;
    set.delete(key);
    if (set.size === 0) this.#sets.delete(flagSetId);
    this.#size--;
    this.#sorted = undefined;
    return true;
  }
}
