/** What waits for its turn, by who asked: each asker has one turn after the other, however many things it asks for. */
export class Turns<T> {
  /** The asker whose turn is next comes first. */
  readonly #byAsker = new Map<unknown, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(asker: unknown, item: T): void {
    const items = this.#byAsker.get(asker);
    if (items?.has(item) === true) return;
    if (items === undefined) this.#byAsker.set(asker, new Set([item]));
    else items.add(item);
    this.#size++;
  }

  delete(asker: unknown, item: T): void {
    const items = this.#byAsker.get(asker);
    if (items?.delete(item) !== true) return;
    this.#size--;
    if (items.size === 0) this.#byAsker.delete(asker);
  }

  /** It was this asker's turn: all others come before it. */
  took(asker: unknown): void {
    const items = this.#byAsker.get(asker);
    if (items === undefined) return;
    this.#byAsker.delete(asker);
    this.#byAsker.set(asker, items);
  }

  /**
   * In the order of their turns: the first item of each asker, then the second of each, and so on. Items may be deleted meanwhile. The items
   * of an asker that took its turn meanwhile come once more.
   */
  *[Symbol.iterator](): IterableIterator<T> {
    let rows: IterableIterator<T>[] = [];
    for (const items of this.#byAsker.values()) {
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
