import type { Clock } from "@bunting/runtime";

/**
 * Items that are due a fixed time after they were last touched, with one timer for all of them: as the time is the same for each, the
 * order of touching is the order of being due.
 */
export class DueQueue<T> {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onDue: (item: T) => void;
  /** Touched longest ago first. */
  readonly #dueMs = new Map<T, number>();
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, delayMs: number, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#dueMs.size;
  }

  /** Adds an item, or begins its time anew. */
  touch(item: T): void {
    this.#dueMs.delete(item);
    this.#dueMs.set(item, this.#clock.monotonicMs() + this.#delayMs);
    // A timer for an item touched since fires early and finds nothing due: cheaper than a new one on every touch.
    this.#cancelTimer ??= this.#clock.after(this.#delayMs, () => this.#takeDue());
  }

  delete(item: T): void {
    this.#dueMs.delete(item);
    if (this.#dueMs.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #takeDue(): void {
    this.#cancelTimer = undefined;
    const nowMs = this.#clock.monotonicMs();
    const due: T[] = [];
    for (const [item, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) break;
      due.push(item);
    }
    for (const item of due) this.#dueMs.delete(item);
    for (const item of due) this.#onDue(item);
    const next = this.#dueMs.values().next().value;
    if (next !== undefined) this.#cancelTimer ??= this.#clock.after(next - nowMs, () => this.#takeDue());
  }
}
