import type { Clock } from "@bunting/runtime";

/** Writes at once, as when somebody edits several objects, or one again. */
const burst = 5;
/** The time between writes after these. */
const intervalMs = 30_000;

/** Writes for one key, of which not all are over. */
interface Written {
  readonly wanted: string;
  /** When its writes so far would be over, had each its time. */
  readonly overMs: number;
}

/**
 * Paces what is written again though nothing else is wanted than before: who changes an object each time that we have written it, as an updater of
 * images does, would otherwise be answered in a loop, of which each turn replaces Pods. What is wanted anew is written at once.
 */
export class DriftPace {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #written = new Map<string, Written>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Time until something may be written for the key, in ms; 0 if that may be now.
   *
   * @param wanted a digest of what there should be, whatever others have made of it
   */
  leftMs(key: string, wanted: string): number {
    const overMs = this.#overMs(key, wanted);
    return Math.max(0, overMs - (burst - 1) * intervalMs - this.#clock.monotonicMs());
  }

  /** To be called when something was written for the key. */
  wrote(key: string, wanted: string): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [other, { overMs }] of this.#written) if (overMs <= nowMs) this.#written.delete(other);
    const overMs = Math.max(nowMs, this.#overMs(key, wanted)) + intervalMs;
    this.#written.set(key, { wanted, overMs });
  }

  #overMs(key: string, wanted: string): number {
    const written = this.#written.get(key);
    return written?.wanted === wanted ? written.overMs : 0;
  }
}
