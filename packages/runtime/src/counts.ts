/** A count for each key, such as a peer. A key with a count of 0 takes no memory, so that keys that peers choose don't stay. */
export class Counts<Key> {
  readonly #counts = new Map<Key, number>();

  get size(): number {
    return this.#counts.size;
  }

  of(key: Key): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Returns the new count, which is never below 0. */
  add(key: Key, delta: number): number {
    const count = Math.max(0, this.of(key) + delta);
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
    return count;
  }
}
