import type { Clock } from "@bunting/runtime";

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #nowMs = 1_000;

  now(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that have neither fired nor been cancelled: none may be left at the end. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** True if a timer is due in exactly this time: a fence for a party that is to wait so long. */
  hasTimerIn(ms: number): boolean {
    return [...this.#timers].some(({ dueMs }) => dueMs === this.#nowMs + ms);
  }

  /** Moves on and fires each timer that is due, including those set meanwhile. */
  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.dueMs <= endMs);
      const next = due.sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#nowMs = next.dueMs;
      next.callback();
    }
    this.#nowMs = endMs;
  }
}
