const none: ReadonlySet<never> = new Set<never>();

/** Sets of values by key. A key exists as long as it has values, so that keys that peers choose don't stay. */
export class SetMultimap<Key, Value> {
  readonly #sets = new Map<Key, Set<Value>>();

  /** For a walk during which keys may come and go. */
  keys(): Iterable<Key> {
    return this.#sets.keys();
  }

  /** The values of a key, in the order in which they were added; changes with it, until the key has none. */
  get(key: Key): ReadonlySet<Value> {
    return this.#sets.get(key) ?? none;
  }

  add(key: Key, value: Value): void {
    const values = this.#sets.get(key);
    if (values === undefined) this.#sets.set(key, new Set([value]));
    else values.add(value);
  }

  delete(key: Key, value: Value): boolean {
    const values = this.#sets.get(key);
    const isDeleted = values?.delete(value) === true;
    if (values?.size === 0) this.#sets.delete(key);
    return isDeleted;
  }

  /** Removes the key, and returns the values that it had. */
  take(key: Key): ReadonlySet<Value> {
    const values = this.get(key);
    this.#sets.delete(key);
    return values;
  }
}
