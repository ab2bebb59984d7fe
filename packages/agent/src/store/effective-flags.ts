import type { Flag } from "@bunting/evaluation";

/**
 * Of all flags with the same flagSetId and key, the one that is served: that of the latest source. The others are kept behind it, so that
 * the next one takes over when it is removed.
 */
export class EffectiveFlags {
  readonly #sets = new Map<string, Map<string, Flag>>();
  /** Flags behind a served one, latest source first; few flags have any. */
  readonly #shadowed = new Map<string, Map<string, Flag[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(flagSetId: string, key: string): Flag | undefined {
    return this.#sets.get(flagSetId)?.get(key);
  }

  *[Symbol.iterator](): IterableIterator<Flag> {
    for (const set of this.#sets.values()) yield* set.values();
  }

  /** Adds a flag, or replaces the one of the same source. */
  put(flag: Flag): void {
    const served = this.get(flag.flagSetId, flag.key);
    if (served === undefined || served.sourceIndex <= flag.sourceIndex) {
      if (served !== undefined && served.sourceIndex < flag.sourceIndex) this.#shadow(served);
      this.#serve(flag);
    } else this.#shadow(flag);
  }

  /** Removes a flag, served or not. A flag that its source has replaced is ignored. */
  remove(flag: Flag): void {
    const { flagSetId, key } = flag;
    const behind = this.#shadowed.get(flagSetId)?.get(key);
    if (this.get(flagSetId, key) === flag) {
      const next = behind?.shift();
      if (next === undefined) this.#drop(flagSetId, key);
      else this.#serve(next);
    } else if (behind?.includes(flag)) behind.splice(behind.indexOf(flag), 1);
    if (behind?.length === 0) this.#shadowed.get(flagSetId)?.delete(key);
  }

  #serve(flag: Flag): void {
    let set = this.#sets.get(flag.flagSetId);
    if (set === undefined) this.#sets.set(flag.flagSetId, (set = new Map<string, Flag>()));
    if (!set.has(flag.key)) this.#size++;
    set.set(flag.key, flag);
  }

  #drop(flagSetId: string, key: string): void {
    const set = this.#sets.get(flagSetId);
    if (set?.delete(key)) this.#size--;
    if (set?.size === 0) this.#sets.delete(flagSetId);
  }

  #shadow(flag: Flag): void {
    let set = this.#shadowed.get(flag.flagSetId);
    if (set === undefined) this.#shadowed.set(flag.flagSetId, (set = new Map<string, Flag[]>()));
    const others = (set.get(flag.key) ?? []).filter((other) => other.sourceIndex !== flag.sourceIndex);
    set.set(
      flag.key,
      [...others, flag].sort((a, b) => b.sourceIndex - a.sourceIndex),
    );
  }
}
