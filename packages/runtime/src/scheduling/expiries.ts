import type { Clock } from "../clock.js";

/** Interval of the looks at the wall clock: it may be set, so no timer runs for as long as a token is valid. */
const tickMs = 1_000;

/**
 * Calls back for each item when the wall clock reaches its time, to the second. One timer serves any number of items, and it runs only while
 * there are some. `Deadlines` does this for items that all have the same delay.
 */
export class Expiries<Item> {
  readonly #clock: Clock;
  readonly #onDue: (item: Item) => void;
  /** Items by the second in which they are due. */
  readonly #buckets = new Map<number, Set<Item>>();
  #earliest = Infinity;
  #cancelTick: (() => void) | undefined;

  constructor(clock: Clock, onDue: (item: Item) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Adds an item that is due at this time, in ms since the epoch. */
  add(item: Item, atMs: number): void {
    const second = Math.ceil(atMs / 1_000);
    const bucket = this.#buckets.get(second) ?? new Set();
    this.#buckets.set(second, bucket.add(item));
    this.#earliest = Math.min(this.#earliest, second);
    this.#cancelTick ??= this.#clock.after(tickMs, () => this.#tick());
  }

  /** Removes an item that was added with this time. */
  delete(item: Item, atMs: number): void {
    const second = Math.ceil(atMs / 1_000);
    const bucket = this.#buckets.get(second);
    bucket?.delete(item);
    if (bucket?.size === 0) this.#buckets.delete(second);
    if (this.#buckets.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    this.#earliest = Infinity;
  }

  #tick(): void {
    const second = Math.floor(this.#clock.now() / 1_000);
    if (this.#earliest <= second) {
      const due = [...this.#buckets.keys()].filter((each) => each <= second);
      for (const each of due) {
        const items = this.#buckets.get(each) ?? [];
        this.#buckets.delete(each);
        for (const item of items) this.#onDue(item);
      }
      this.#earliest = Math.min(...this.#buckets.keys());
    }
    this.#cancelTick = this.#buckets.size === 0 ? undefined : this.#clock.after(tickMs, () => this.#tick());
  }
}
