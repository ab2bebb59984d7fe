import type { Clock } from "@bunting/runtime";
import { Counts } from "./counts.js";

interface Refused<Answer> {
  readonly answer: Answer;
  readonly asker: string;
  readonly atMs: number;
}

/** How many refused answers one asker may have at a time. */
const maxPerAsker = 32;

/** Refused answers, which count for some time. They are also what an asker's guesses are counted by. */
export class Refusals<Answer> {
  readonly #clock: Clock;
  readonly #keptMs: number;
  readonly #maxAnswers: number;
  /** The oldest first. */
  readonly #answers = new Map<string, Refused<Answer>>();
  readonly #byAsker = new Counts();

  constructor(clock: Clock, keptMs: number, maxAnswers: number) {
    this.#clock = clock;
    this.#keptMs = keptMs;
    this.#maxAnswers = maxAnswers;
  }

  get size(): number {
    return this.#answers.size;
  }

  /** The answer, if it still counts. */
  of(key: string): Answer | undefined {
    const refused = this.#answers.get(key);
    if (refused === undefined) return undefined;
    if (this.#isCurrent(refused)) return refused.answer;
    this.forget(key);
    return undefined;
  }

  keep(key: string, answer: Answer, asker: string): void {
    this.forget(key);
    this.#answers.set(key, { answer, asker, atMs: this.#clock.monotonicMs() });
    this.#byAsker.add(asker, 1);
    this.#forgetOld();
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size > this.#maxAnswers) this.forget(oldest);
  }

  forget(key: string): void {
    const refused = this.#answers.get(key);
    if (refused === undefined) return;
    this.#answers.delete(key);
    this.#byAsker.add(refused.asker, -1);
  }

  /** Whether an asker has as many as it may have. */
  areTooMany(asker: string): boolean {
    if (this.#byAsker.of(asker) < maxPerAsker) return false;
    this.#forgetOld();
    return this.#byAsker.of(asker) >= maxPerAsker;
  }

  #forgetOld(): void {
    for (const [key, refused] of this.#answers) {
      if (this.#isCurrent(refused)) return;
      this.forget(key);
    }
  }

  #isCurrent({ atMs }: Refused<Answer>): boolean {
    return this.#clock.monotonicMs() - atMs < this.#keptMs;
  }
}
