/**
 * Items that wait, by the key that they count for: an address, a connection, a ServiceAccount. Keys take turns, so that one with a thousand
 * items does not delay a thousand keys with one item each.
 */
export class FairQueue<Item> {
  /** Items by key. The key whose turn is next comes first: a Map keeps insertion order. */
  readonly #byKey = new Map<unknown, Set<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(key: unknown, item: Item): void {
    const items = this.#byKey.get(key);
    if (items?.has(item) === true) return;
    if (items === undefined) this.#byKey.set(key, new Set([item]));
    else items.add(item);
    this.#size++;
  }

  /** False if the item did not wait. */
  delete(key: unknown, item: Item): boolean {
    const items = this.#byKey.get(key);
    if (items?.delete(item) !== true) return false;
    this.#size--;
    if (items.size === 0) this.#byKey.delete(key);
    return true;
  }

  /** To be called when an item of the key was served: all other keys come before it. */
  moveToBack(key: unknown): void {
    const items = this.#byKey.get(key);
    if (items === undefined) return;
    this.#byKey.delete(key);
    this.#byKey.set(key, items);
  }

  /**
   * The first item of each key, in the order of turns. Items may be deleted meanwhile; a key that is moved to the back meanwhile has another turn
   * if it has another item.
   */
  *heads(): IterableIterator<readonly [key: unknown, item: Item]> {
    for (const [key, items] of this.#byKey)
      for (const item of items) {
        yield [key, item];
        break;
      }
  }

  /**
   * Iterates in the order of turns: the first item of each key, then the second of each, and so on. Items may be deleted meanwhile. The items
   * of a key that is moved to the back meanwhile are visited once more.
   */
  *[Symbol.iterator](): IterableIterator<Item> {
    let rows: IterableIterator<Item>[] = [];
    for (const items of this.#byKey.values()) {
      const row = items.values();
      const first = row.next();
      if (first.done === true) continue;
      rows.push(row);
      yield first.value;
    }
    while (rows.length > 0) {
      const left: typeof rows = [];
      for (const row of rows) {
        const next = row.next();
        if (next.done === true) continue;
        yield next.value;
        left.push(row);
      }
      rows = left;
    }
  }
}
