import type { Clock } from "../clock.js";
import { forEachInSlices } from "./slices.js";
import { Sweep } from "./sweep.js";

/** Items that are reported in one turn of the event loop. */
const itemsPerTurn = 256;

/**
 * Reports items that have been waited for too long: between one and two times the timeout. There may be one for each stream, so none has a
 * timer, and no clock is read for them: an item that was there at two sweeps is overdue. A sweep counts once, however late it is, so that
 * what has arrived while the event loop was blocked is read before it is missed.
 */
export class Overdue<Item> {
  readonly #onOverdue: (item: Item) => void;
  /** Added since the last sweep. */
  #recent = new Set<Item>();
  /** Added before the last sweep. */
  #older = new Set<Item>();
  /** Found overdue, and being reported. */
  readonly #due = new Set<Item>();
  readonly #sweep: Sweep;

  constructor(clock: Clock, timeoutMs: number, onOverdue: (item: Item) => void) {
    this.#sweep = new Sweep(clock, timeoutMs, () => this.#look());
    this.#onOverdue = onOverdue;
  }

  /** Begins to sweep; to be called when there may be items, unless it already sweeps. */
  start(): void {
    this.#sweep.start();
  }

  /** Ends the sweeps; to be called when there are no more items. */
  stop(): void {
    this.#sweep.stop();
  }

  /** Begins to wait for the item, which must not be waited for already. */
  add(item: Item): void {
    this.#recent.add(item);
  }

  delete(item: Item): void {
    if (!this.#recent.delete(item) && !this.#older.delete(item)) this.#due.delete(item);
  }

  #look(): void {
    for (const item of this.#older) this.#due.add(item);
    this.#older = this.#recent;
    this.#recent = new Set();
    const report = (item: Item): void => {
      this.#due.delete(item);
      this.#onOverdue(item);
    };
    void forEachInSlices(this.#due, report, { perSlice: itemsPerTurn });
  }
}
