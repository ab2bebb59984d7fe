/** The smallest `count` of many items, in order: without sorting, or keeping, the others. */
export class Smallest<Item> {
  readonly #count: number;
  readonly #compare: (a: Item, b: Item) => number;
  readonly #items: Item[] = [];

  constructor(count: number, compare: (a: Item, b: Item) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    const items = this.#items;
    const last = items.at(-1);
    if (items.length === this.#count && last !== undefined && this.#compare(item, last) >= 0) return;
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = items[middle];
      if (other !== undefined && this.#compare(item, other) < 0) high = middle;
      else low = middle + 1;
    }
    items.splice(low, 0, item);
    if (items.length > this.#count) items.pop();
  }
}
