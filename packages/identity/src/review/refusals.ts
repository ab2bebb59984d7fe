import { Counts, type Clock } from "@bunting/runtime";

interface Refused<Answer> {
  readonly answer: Answer;
  readonly caller: string;
  readonly atMs: number;
}

/** The most refused answers that one caller may have cached. */
const maxPerCaller = 32;

/**
 * The negative cache: refused answers with a TTL. Their number by caller also limits how many names a caller can
 * probe.
 */
export class Refusals<Answer> {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #maxAnswers: number;
  /** The oldest first. */
  readonly #answers = new Map<string, Refused<Answer>>();
  readonly #byCaller = new Counts<string>();

  constructor(clock: Clock, ttlMs: number, maxAnswers: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#maxAnswers = maxAnswers;
  }

  get size(): number {
    return this.#answers.size;
  }

  /** The answer; undefined without one, or after its TTL. */
  of(key: string): Answer | undefined {
    const refused = this.#answers.get(key);
    if (refused === undefined) return undefined;
    if (this.#isFresh(refused)) return refused.answer;
    this.forget(key);
    return undefined;
  }

  keep(key: string, answer: Answer, caller: string): void {
    this.forget(key);
    this.#answers.set(key, { answer, caller, atMs: this.#clock.monotonicMs() });
    this.#byCaller.add(caller, 1);
    this.#evictExpired();
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size > this.#maxAnswers) this.forget(oldest);
  }

  forget(key: string): void {
    const refused = this.#answers.get(key);
    if (refused === undefined) return;
    this.#answers.delete(key);
    this.#byCaller.add(refused.caller, -1);
  }

  /** True if a caller has as many refused answers as it may have. */
  areTooMany(caller: string): boolean {
    if (this.#byCaller.of(caller) < maxPerCaller) return false;
    this.#evictExpired();
    return this.#byCaller.of(caller) >= maxPerCaller;
  }

  #evictExpired(): void {
    for (const [key, refused] of this.#answers) {
      if (this.#isFresh(refused)) return;
      this.forget(key);
    }
  }

  #isFresh({ atMs }: Refused<Answer>): boolean {
    return this.#clock.monotonicMs() - atMs < this.#ttlMs;
  }
}
