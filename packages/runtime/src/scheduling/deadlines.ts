import type { Clock } from "../clock.js";

/**
 * Calls back for each item that was neither restarted nor cancelled within a delay. The delay is the same for all items, so they fall due in
 * the order in which they were started: one timer serves any number of them, and starting or cancelling one allocates nothing.
 */
export class Deadlines<Item> {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onDue: (item: Item) => void;
  /** When each item is due, the earliest first: a Map keeps insertion order. */
  readonly #dueMs = new Map<Item, number>();
  #cancelTimer: (() => void) | undefined;
  /** While true, `#expire` sets the timer at its end, for the item that is first by then. */
  #isExpiring = false;

  constructor(clock: Clock, delayMs: number, onDue: (item: Item) => void) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#dueMs.size;
  }

  /** Starts an item's delay, or restarts it. */
  start(item: Item): void {
    this.#dueMs.delete(item);
    // In whole milliseconds, which V8 keeps in the entry: others are an object each, and there may be 10,000 items.
    this.#dueMs.set(item, Math.ceil(this.#clock.monotonicMs()) + this.#delayMs);
    if (!this.#isExpiring) this.#cancelTimer ??= this.#wake(this.#delayMs);
  }

  cancel(item: Item): void {
    this.#dueMs.delete(item);
    if (this.#dueMs.size > 0 || this.#isExpiring) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #wake(afterMs: number): () => void {
    return this.#clock.after(afterMs, () => this.#expire());
  }

  /** Limited per turn of the event loop: 10,000 items that were started by one broadcast would otherwise block everything else. */
  #expire(): void {
    const nowMs = this.#clock.monotonicMs();
    let left = maxPerTurn;
    this.#isExpiring = true;
    for (const [item, dueMs] of this.#dueMs) {
      if (dueMs > nowMs || left-- === 0) break;
      this.#dueMs.delete(item);
      this.#onDue(item);
    }
    this.#isExpiring = false;
    this.#cancelTimer = undefined;
    for (const dueMs of this.#dueMs.values()) {
      this.#cancelTimer = this.#wake(Math.max(0, dueMs - nowMs));
      break;
    }
  }
}

const maxPerTurn = 256;
