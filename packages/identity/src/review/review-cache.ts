import type { KubeError } from "@bunting/kube";
import { Counts, Deadlines, type Clock, type Rate } from "@bunting/runtime";
import type { ReviewQueue, ReviewTask } from "./review-queue.js";
import { callerBudgets } from "./caller-budgets.js";
import { Refusals } from "./refusals.js";
import { ReviewError } from "./review-error.js";

/** One kind of question about callers: how it is asked, and what an answer means. */
export interface ReviewKind<Question, Answer> {
  /** The cache key: equal for equal questions. */
  keyOf(question: Question): string;
  /** The caller that a question counts against, in its turns and its limits: a prober then slows down only itself. */
  callerOf(question: Question): string;
  /**
   * @param before the cached granted answer, if any: it may be cheaper to confirm than to find
   * @throws KubeError
   */
  ask(question: Question, signal: AbortSignal, before: Answer | undefined): Promise<Answer>;
  isGranted(answer: Answer): boolean;
  /**
   * Rate limit of new questions (those without a granted answer) for each caller, whatever the answers. Absent: no
   * limit. For kinds whose callers can make up any number of questions.
   */
  readonly newPerCaller?: Rate;
  /** The answer to a question that the API server rejects as INVALID. */
  readonly rejected: Answer;
}

/** TTLs and timeouts, all in ms. */
export interface ReviewTimes {
  /** TTL of a granted answer for `answer`. */
  readonly grantedTtlMs: number;
  readonly refusedTtlMs: number;
  /** TTL of a granted answer for `recheck`. */
  readonly recheckTtlMs: number;
  /** Stale-if-error: while the API server is unavailable, a granted answer is served up to this age. */
  readonly staleIfErrorMs: number;
  /** How long a caller of the cache waits for an answer. */
  readonly timeoutMs: number;
}

export type ReviewResult = "granted" | "refused" | "failed";

export interface ReviewCacheOptions {
  /** A queue for this kind alone: if the proxy lacks the permission for one kind, the others still work. */
  readonly queue: ReviewQueue;
  readonly clock: Clock;
  /** Replaced by tests. */
  readonly times?: Partial<ReviewTimes>;
  /** The most granted answers that are cached, and the most refused ones. Default 50,000. */
  readonly maxAnswers?: number;
  /** Called for each answer and each failure, with the number of answers cached before. */
  readonly onReview?: (result: ReviewResult, cachedAnswers: number) => void;
}

interface Granted<Answer> {
  readonly answer: Answer;
  readonly atMs: number;
  /** Time of the first refusal since the answer was granted; absent without one. See `secondLookMs`. */
  firstRefusedAtMs?: number;
}

/** A question that has no answer yet; all callers that ask it share its promise. */
interface Pending<Answer> {
  readonly task: ReviewTask & { isRecheck: boolean };
  readonly caller: string;
  /** True once the question was sent to the API server. */
  isSent: boolean;
  readonly promise: Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: ReviewError) => void;
}

/**
 * A refusal after a grant counts only if the API server repeats it after this time: one that has just started
 * refuses everything.
 */
const secondLookMs = 2_000;
/** The most questions without an answer that one caller may have at a time. */
const maxPendingPerCaller = 256;
const defaultMaxAnswers = 50_000;

/**
 * A cache of the API server's answers about callers, with a TTL, request coalescing and stale-if-error.
 *
 * Invariants:
 * - A grant comes from an answer of the API server, or from `put`; nothing else is ever served as a grant.
 * - Equal questions that are asked together share one request.
 * - A granted answer is kept beyond its TTL. While the API server is unavailable (see `ReviewQueue`) it is served
 *   up to `staleIfErrorMs`.
 * - A refusal after a grant counts only if it is repeated after `secondLookMs`. Until then the grant is
 *   unconfirmed: it is served only while the API server is unavailable.
 * - Refused answers are cached apart (`Refusals`). Limits on new, pending and refused questions apply to each
 *   caller, and never to questions whose grant is cached.
 */
export class ReviewCache<Question, Answer> {
  readonly #kind: ReviewKind<Question, Answer>;
  readonly #times: ReviewTimes;
  readonly #options: ReviewCacheOptions;
  /** Granted answers by key, the least recently used first. */
  readonly #granted = new Map<string, Granted<Answer>>();
  readonly #refusals: Refusals<Answer>;
  readonly #pending = new Map<string, Pending<Answer>>();
  readonly #pendingBy = new Counts<string>();
  readonly #timeouts: Deadlines<string>;
  readonly #hasBudget: ((caller: string) => boolean) | undefined;

  constructor(kind: ReviewKind<Question, Answer>, defaults: ReviewTimes, options: ReviewCacheOptions) {
    const { clock, queue, maxAnswers = defaultMaxAnswers } = options;
    this.#kind = kind;
    this.#times = { ...defaults, ...options.times };
    this.#options = options;
    this.#refusals = new Refusals(clock, this.#times.refusedTtlMs, maxAnswers);
    this.#hasBudget = kind.newPerCaller && callerBudgets(clock, kind.newPerCaller);
    this.#timeouts = new Deadlines(clock, this.#times.timeoutMs, (key) => this.#timeOut(key));
    queue.onUnavailable(() => {
      for (const key of [...this.#pending.keys()])
        if (this.#staleIfError(key) !== undefined) this.#timeOut(key);
    });
  }

  get size(): number {
    return this.#granted.size + this.#refusals.size;
  }

  /**
   * The answer, without a promise if it is cached. Throws, or rejects with, a ReviewError: UNANSWERED if the API
   * server does not answer in time, EXHAUSTED if the caller has used up its limits.
   */
  answer(question: Question): Answer | Promise<Answer> {
    return this.#answer(question, this.#times.grantedTtlMs, false);
  }

  /** As `answer`, with the TTL `recheckTtlMs`. To be called regularly while a stream relies on a grant. */
  recheck(question: Question): Answer | Promise<Answer> {
    return this.#answer(question, this.#times.recheckTtlMs, true);
  }

  /** As `answer`, but a cached grant is not served while the API server is available. */
  renew(question: Question): Answer | Promise<Answer> {
    return this.#answer(question, 0, false);
  }

  #answer(question: Question, maxAgeMs: number, isRecheck: boolean): Answer | Promise<Answer> {
    const { queue } = this.#options;
    const key = this.#kind.keyOf(question);
    const cached = this.#cached(key, maxAgeMs);
    // While stale answers are served, one question at a time probes whether the API server is back.
    if (cached !== undefined && queue.isUnavailable && queue.size === 0)
      void this.#ask(question, key, isRecheck);
    return cached ?? this.#refusals.of(key) ?? this.#ask(question, key, isRecheck);
  }

  /** True if a cached grant could be served while the API server is unavailable. */
  hasGranted(question: Question): boolean {
    return this.#staleIfError(this.#kind.keyOf(question)) !== undefined;
  }

  /** Drops a cached refusal, so that the next call asks again. */
  forgetRefusal(question: Question): void {
    this.#refusals.forget(this.#kind.keyOf(question));
  }

  /** Drops a cached grant. */
  forget(question: Question): void {
    this.#granted.delete(this.#kind.keyOf(question));
  }

  /** Caches a granted answer that was found in another way. */
  put(question: Question, answer: Answer): void {
    this.#keepGranted(this.#kind.keyOf(question), answer);
  }

  /** The cached grant if it is confirmed and fresh; while the API server is unavailable, the stale one. */
  #cached(key: string, maxAgeMs: number): Answer | undefined {
    const granted = this.#granted.get(key);
    if (granted === undefined) return undefined;
    this.#granted.delete(key);
    this.#granted.set(key, granted);
    if (granted.firstRefusedAtMs === undefined && this.#ageMs(granted) < maxAgeMs) return granted.answer;
    return this.#options.queue.isUnavailable ? this.#staleIfError(key) : undefined;
  }

  /** The cached grant, up to the age of `staleIfErrorMs`. */
  #staleIfError(key: string): Answer | undefined {
    const granted = this.#granted.get(key);
    if (granted === undefined || this.#ageMs(granted) >= this.#times.staleIfErrorMs) return undefined;
    return granted.answer;
  }

  #ageMs({ atMs }: Granted<Answer>): number {
    return this.#options.clock.monotonicMs() - atMs;
  }

  #ask(question: Question, key: string, isRecheck: boolean): Promise<Answer> {
    const { queue } = this.#options;
    const waiting = this.#pending.get(key);
    if (waiting !== undefined) {
      if (isRecheck && !waiting.task.isRecheck) {
        waiting.task.isRecheck = true;
        queue.promote(waiting.task);
      }
      return waiting.promise;
    }
    const caller = this.#kind.callerOf(question);
    const isNew = !this.#granted.has(key);
    if (isNew && this.#pendingBy.of(caller) >= maxPendingPerCaller)
      throw ReviewError.tooManyPending(maxPendingPerCaller);
    if (isNew && this.#refusals.areTooMany(caller)) throw ReviewError.tooManyRefusals();
    if (isNew && this.#hasBudget?.(caller) === false) throw ReviewError.tooManyQuestions();
    const { promise, resolve, reject } = deferred<Answer>();
    // The caller may no longer wait when the promise rejects: the rejection must not be unhandled.
    promise.catch(() => undefined);
    const task: Pending<Answer>["task"] = {
      caller,
      isRecheck,
      ask: async (signal) => {
        if (this.#pending.get(key) !== pending) return false;
        pending.isSent = true;
        if (isNew && this.#refusals.areTooMany(caller)) {
          this.#settle(key)?.reject(ReviewError.tooManyRefusals());
          return false;
        }
        this.#answered(key, await this.#review(question, key, signal), pending);
        return true;
      },
      rejected: () => this.#answered(key, this.#kind.rejected, pending),
    };
    const pending: Pending<Answer> = { task, caller, isSent: false, promise, resolve, reject };
    this.#pending.set(key, pending);
    this.#pendingBy.add(caller, 1);
    this.#timeouts.start(key);
    queue.add(task);
    return promise;
  }

  async #review(question: Question, key: string, signal: AbortSignal): Promise<Answer> {
    const { onReview } = this.#options;
    try {
      const answer = await this.#kind.ask(question, signal, this.#granted.get(key)?.answer);
      onReview?.(this.#kind.isGranted(answer) ? "granted" : "refused", this.size);
      return answer;
    } catch (error) {
      onReview?.((error as KubeError).code === "INVALID" ? "refused" : "failed", this.size);
      throw error;
    }
  }

  #answered(key: string, answer: Answer, pending: Pending<Answer>): void {
    if (this.#kind.isGranted(answer)) this.#keepGranted(key, answer);
    else if (this.#isUnconfirmedRefusal(key, pending)) return;
    else {
      this.#granted.delete(key);
      this.#refusals.keep(key, answer, pending.caller);
    }
    // An answer that comes after the timeout was cached above, but nobody waits for it.
    if (this.#pending.get(key) === pending) this.#settle(key)?.resolve(answer);
  }

  /**
   * True if a grant is cached, and this refusal is the first or comes within `secondLookMs` of it. The question is
   * sent again after that time if a caller still waits for it.
   */
  #isUnconfirmedRefusal(key: string, pending: Pending<Answer>): boolean {
    const { queue, clock } = this.#options;
    const granted = this.#granted.get(key);
    if (granted === undefined) return false;
    granted.firstRefusedAtMs ??= clock.monotonicMs();
    const leftMs = granted.firstRefusedAtMs + secondLookMs - clock.monotonicMs();
    if (leftMs <= 0) return false;
    clock.after(leftMs, () => {
      if (this.#pending.get(key) === pending) queue.add(pending.task);
    });
    return true;
  }

  #settle(key: string): Pending<Answer> | undefined {
    const pending = this.#pending.get(key);
    if (pending === undefined) return undefined;
    this.#pending.delete(key);
    this.#pendingBy.add(pending.caller, -1);
    this.#timeouts.cancel(key);
    return pending;
  }

  /** Serves the stale grant after the timeout, unless the grant is unconfirmed and the API server answers others. */
  #timeOut(key: string): void {
    const pending = this.#settle(key);
    if (pending === undefined) return;
    this.#options.queue.delete(pending.task);
    const isUnconfirmed = this.#granted.get(key)?.firstRefusedAtMs !== undefined;
    const stale = isUnconfirmed && !this.#options.queue.isUnavailable ? undefined : this.#staleIfError(key);
    if (stale === undefined) pending.reject(ReviewError.unanswered(this.#options.queue, pending.isSent));
    else pending.resolve(stale);
  }

  #keepGranted(key: string, answer: Answer): void {
    const { maxAnswers = defaultMaxAnswers, clock } = this.#options;
    this.#refusals.forget(key);
    this.#granted.delete(key);
    this.#granted.set(key, { answer, atMs: clock.monotonicMs() });
    if (this.#granted.size <= maxAnswers) return;
    const [oldest] = this.#granted.keys();
    if (oldest !== undefined) this.#granted.delete(oldest);
  }
}

function deferred<T>(): Pick<Pending<T>, "promise" | "resolve" | "reject"> {
  const settle: { resolve: (value: T) => void; reject: (error: ReviewError) => void } = {
    resolve: () => undefined,
    reject: () => undefined,
  };
  const promise = new Promise<T>((resolve, reject) => Object.assign(settle, { resolve, reject }));
  return { promise, ...settle };
}
