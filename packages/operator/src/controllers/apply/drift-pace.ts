import type { Clock } from "@bunting/runtime";

/** Repairs at once, as when somebody edits several objects, or one again. */
const burst = 5;
/** The time between repairs after these. */
const intervalMs = 30_000;

/**
 * Paces what is put back of that which others change: who writes an object each time that we have, as an updater of images does, would otherwise be
 * answered in a loop, of which each turn replaces Pods.
 */
export class DriftPace {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By key: when its repairs so far would be over, had each its time. */
  readonly #overMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Time until something may be put back for the key, in ms; 0 if that may be now. */
  leftMs(key: string): number {
    const overMs = this.#overMs.get(key) ?? 0;
    return Math.max(0, overMs - (burst - 1) * intervalMs - this.#clock.monotonicMs());
  }

  /** To be called when something was put back for the key. */
  repaired(key: string): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [other, overMs] of this.#overMs) if (overMs <= nowMs) this.#overMs.delete(other);
    this.#overMs.set(key, Math.max(nowMs, this.#overMs.get(key) ?? 0) + intervalMs);
  }
}
