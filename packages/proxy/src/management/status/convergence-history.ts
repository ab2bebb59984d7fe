import type { ConvergenceSection } from "./status-view.js";

const stepMs = 5_000;
const steps = 120;
type Column = "halfMs" | "mostMs" | "allMs";
const columnOfShare = new Map<number, Column>([
  [0.5, "halfMs"],
  [0.99, "mostMs"],
  [1, "allMs"],
]);
/** What a step holds before anything is recorded in it; -1 means that no version came so far. */
const empty = { published: 0, halfMs: -1, mostMs: -1, allMs: -1, late: 0 };
type Step = typeof empty;

/**
 * How fast versions reached their subscribers in the last ten minutes, in steps of five seconds: one small object each, whatever happens.
 * A step keeps the slowest version and the most late subscribers.
 */
export class ConvergenceHistory {
  readonly #nowMs: () => number;
  /** Steps in which something was recorded, oldest first, by their number since the epoch. */
  readonly #steps = new Map<number, Step>();

  /** @param nowMs ms since the epoch; it does not go backwards */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Interval at which the number of late subscribers should be recorded. */
  get stepMs(): number {
    return stepMs;
  }

  /** A version was published. */
  published(): void {
    this.#current().published++;
  }

  /** This share of its subscribers had a version after so many ms. */
  converged(share: number, ms: number): void {
    const step = this.#current();
    const column = columnOfShare.get(share);
    if (column !== undefined) step[column] = Math.max(step[column], ms);
  }

  /** So many subscribers are late now. */
  late(subscribers: number): void {
    const step = this.#current();
    step.late = Math.max(step.late, subscribers);
  }

  read(): ConvergenceSection {
    const last = this.#number;
    const shown = Array.from({ length: steps }, (_, at) => this.#steps.get(last + 1 - steps + at) ?? empty);
    const times = (name: Column): number[] => shown.map((step) => Math.round(step[name] * 10) / 10);
    return {
      stepMs,
      lastStepMs: last * stepMs,
      published: shown.map(({ published }) => published),
      halfMs: times("halfMs"),
      mostMs: times("mostMs"),
      allMs: times("allMs"),
      late: shown.map(({ late }) => late),
    };
  }

  get #number(): number {
    return Math.floor(this.#nowMs() / stepMs);
  }

  #current(): Step {
    const number = this.#number;
    let step = this.#steps.get(number);
    if (step === undefined) {
      step = { ...empty };
      this.#steps.set(number, step);
      for (const old of this.#steps.keys()) if (old <= number - steps) this.#steps.delete(old);
    }
    return step;
  }
}
