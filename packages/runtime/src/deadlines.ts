import type { Clock } from "./clock.js";

/**
 * Calls back for each item that nobody spoke of for a while. The while is the same for all, so that they fall due in the order in which
 * they were begun: one timer serves any number of them, and to begin or end one allocates nothing.
 */
export class Deadlines<Item> {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onDue: (item: Item) => void;
  /** When each is due, the first at the head: a Map keeps the order in which keys came. */
  readonly #dueMs = new Map<Item, number>();
  #cancelTimer: (() => void) | undefined;
  /** Then the timer is set at the end: by what is first then, and not by what is begun anew first. */
  #isExpiring = false;

  constructor(clock: Clock, delayMs: number, onDue: (item: Item) => void) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#dueMs.size;
  }

  /** Begins an item's time, or begins it anew. */
  start(item: Item): void {
    this.#dueMs.delete(item);
    this.#dueMs.set(item, this.#clock.monotonicMs() + this.#delayMs);
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

  /** At most so many in one turn of the event loop, or 10,000 that were begun by one broadcast would hold up everybody else. */
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
