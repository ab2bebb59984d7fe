import type { Tally } from "./status-view.js";

interface Counted {
  readonly what: string;
  count: number;
  lastMs: number;
}

/** The reasons of our own metrics are a few dozen. */
const maxKinds = 128;

/** Counts of a small number of events, each with the time of the last one. Counting allocates only at the first time. */
export class EventTally {
  readonly #nowMs: () => number;
  readonly #counted = new Map<string, Map<string, Counted>>();
  #kinds = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  count(group: string, kind: string): void {
    let kinds = this.#counted.get(group);
    if (kinds === undefined) this.#counted.set(group, (kinds = new Map<string, Counted>()));
    let counted = kinds.get(kind);
    if (counted === undefined) {
      if (this.#kinds === maxKinds) return;
      this.#kinds++;
      kinds.set(kind, (counted = { what: kind, count: 0, lastMs: 0 }));
    }
    counted.count++;
    counted.lastMs = this.#nowMs();
  }

  /** The latest first. */
  of(group: string): readonly Tally[] {
    return [...(this.#counted.get(group)?.values() ?? [])]
      .map(({ what, count, lastMs }) => ({ what, count, lastMs: Math.round(lastMs) }))
      .sort((a, b) => b.lastMs - a.lastMs);
  }
}
