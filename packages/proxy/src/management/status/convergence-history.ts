import type { ConvergenceSection } from "./status-view.js";

const stepMs = 5_000;
const steps = 120;
/** Order of the columns below. */
const columns = ["published", "halfMs", "mostMs", "allMs", "late"] as const;
type Column = (typeof columns)[number];
const offsets = Object.fromEntries(columns.map((name, index) => [name, index * steps])) as Record<
  Column,
  number
>;
const columnOfShare = new Map<number, Column>([
  [0.5, "halfMs"],
  [0.99, "mostMs"],
  [1, "allMs"],
]);

/**
 * How fast versions reached their subscribers in the last ten minutes, in steps of five seconds: 2.4 KB, whatever happens, and nothing is
 * allocated by what is recorded. A step keeps the slowest version and the most late subscribers.
 */
export class ConvergenceHistory {
  readonly #nowMs: () => number;
  readonly #values = new Float32Array(columns.length * steps);
  /** The number of the newest step since the epoch. */
  #step: number;

  /** @param nowMs ms since the epoch; it does not go backwards */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#step = Math.floor(nowMs() / stepMs);
  }

  /** Interval at which the number of late subscribers should be recorded. */
  get stepMs(): number {
    return stepMs;
  }

  /** A version was published. */
  published(): void {
    const at = this.#at("published");
    this.#values[at] = (this.#values[at] ?? 0) + 1;
  }

  /** This share of its subscribers had a version after so many ms. */
  converged(share: number, ms: number): void {
    const column = columnOfShare.get(share);
    // 0 means that there was none.
    if (column !== undefined) this.#raise(column, Math.max(ms, 0.1));
  }

  /** So many subscribers are late now. */
  late(subscribers: number): void {
    this.#raise("late", subscribers);
  }

  read(): ConvergenceSection {
    this.#advance();
    const column = (name: Column): number[] =>
      Array.from(
        { length: steps },
        (_, index) => this.#values[offsets[name] + ((this.#step + 1 + index) % steps)] ?? 0,
      );
    const times = (name: Column): number[] =>
      column(name).map((ms) => (ms === 0 ? -1 : Math.round(ms * 10) / 10));
    return {
      stepMs,
      lastStepMs: this.#step * stepMs,
      published: column("published"),
      halfMs: times("halfMs"),
      mostMs: times("mostMs"),
      allMs: times("allMs"),
      late: column("late"),
    };
  }

  #raise(column: Column, value: number): void {
    const at = this.#at(column);
    if (value > (this.#values[at] ?? 0)) this.#values[at] = value;
  }

  #at(column: Column): number {
    this.#advance();
    return offsets[column] + (this.#step % steps);
  }

  /** Clears the steps that have begun since. */
  #advance(): void {
    const step = Math.floor(this.#nowMs() / stepMs);
    for (let next = Math.max(this.#step + 1, step - steps + 1); next <= step; next++)
      for (const name of columns) this.#values[offsets[name] + (next % steps)] = 0;
    this.#step = Math.max(this.#step, step);
  }
}
