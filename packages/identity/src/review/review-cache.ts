import type { KubeError } from "@bunting/kube";
import { Deadlines, type Clock, type Rate } from "@bunting/runtime";
import type { ApiLine, LineTask } from "./api-line.js";
import { AskerBudgets } from "./asker-budgets.js";
import { Counts } from "./counts.js";
import { Refusals } from "./refusals.js";
import { ReviewError } from "./review-error.js";

/** One kind of question about peers: what is asked, and what an answer means. */
export interface ReviewKind<Question, Answer> {
  /** Equal for equal questions. */
  keyOf(question: Question): string;
  /** Whose turn and whose limits count: guesses cost only the peer that makes them. */
  askerOf(question: Question): string;
  /**
   * @param before the granted answer there is, which may be cheaper to confirm than to find
   * @throws KubeError
   */
  ask(question: Question, signal: AbortSignal, before: Answer | undefined): Promise<Answer>;
  isGranted(answer: Answer): boolean;
  /**
   * How many questions without a granted answer each asker may ask, whatever their answers; not limited if not given. For kinds whose askers
   * can make up as many questions as they like.
   */
  readonly newPerAsker?: Rate;
  /** The answer to a question that the API server rejects as such. */
  readonly rejected: Answer;
}

/** How long answers count. All in ms. */
export interface ReviewTimes {
  /** A granted answer is given again for this long without asking. */
  readonly grantedMs: number;
  readonly refusedMs: number;
  /** A recheck asks again if the answer is older than this. */
  readonly recheckMs: number;
  /** While the API server is away, a granted answer counts for this long. */
  readonly awayMs: number;
  /** How long a question may wait for its answer. */
  readonly patienceMs: number;
}

export type ReviewResult = "granted" | "refused" | "failed";

export interface ReviewsOptions<Question, Answer> {
  readonly kind: ReviewKind<Question, Answer>;
  readonly times: ReviewTimes;
  /** Of this kind alone: if the proxy lacks the permission for one kind, answers of the others still count. */
  readonly line: ApiLine;
  readonly clock: Clock;
  /** How many granted answers are kept, and how many refused ones; 50,000 if not given. */
  readonly maxAnswers?: number;
  readonly onReview?: (result: ReviewResult) => void;
}

interface Granted<Answer> {
  readonly answer: Answer;
  readonly atMs: number;
  /** Set while it is in doubt: when it was first refused since it was granted. */
  refusedOnceAtMs?: number;
}

/** A question that has no answer yet. */
interface Pending<Answer> {
  readonly task: LineTask & { isRecheck: boolean };
  readonly asker: string;
  /** True once its turn has come. */
  isAsked: boolean;
  readonly promise: Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: ReviewError) => void;
}

/** A refusal of what was granted counts if it is repeated after this time: an API server that has just started refuses everything. */
const secondLookMs = 2_000;
/** How many questions without an answer one asker may have at a time. */
const maxPendingPerAsker = 256;
const defaultMaxAnswers = 50_000;

/**
 * Answers of the API server about peers, each asked for once however many peers wait for it. Granted answers are kept beyond their time, for
 * when the API server is away; they are never concluded from anything but an answer.
 */
export class Reviews<Question, Answer> {
  readonly #options: ReviewsOptions<Question, Answer>;
  /** The least recently used first. */
  readonly #granted = new Map<string, Granted<Answer>>();
  readonly #refusals: Refusals<Answer>;
  readonly #pending = new Map<string, Pending<Answer>>();
  readonly #pendingBy = new Counts();
  readonly #patience: Deadlines<string>;
  readonly #budgets: AskerBudgets | undefined;

  constructor(options: ReviewsOptions<Question, Answer>) {
    const { clock, times, line, kind, maxAnswers = defaultMaxAnswers } = options;
    this.#options = options;
    this.#refusals = new Refusals(clock, times.refusedMs, maxAnswers);
    this.#budgets = kind.newPerAsker && new AskerBudgets(clock, kind.newPerAsker);
    this.#patience = new Deadlines(clock, times.patienceMs, (key) => this.#giveUp(key));
    line.onAway(() => {
      for (const key of [...this.#pending.keys()]) if (this.#lastingOf(key) !== undefined) this.#giveUp(key);
    });
  }

  /** How many answers are kept. */
  get size(): number {
    return this.#granted.size + this.#refusals.size;
  }

  /**
   * The answer, at once if it is known. Throws, or rejects with, a ReviewError UNANSWERED if the API server does not answer in time,
   * EXHAUSTED if the asker has asked for too much.
   */
  answer(question: Question): Answer | Promise<Answer> {
    return this.#answer(question, this.#options.times.grantedMs, false);
  }

  /** The same for what was granted before: asks again if that is some time ago. To be called regularly while the answer is relied on. */
  recheck(question: Question): Answer | Promise<Answer> {
    return this.#answer(question, this.#options.times.recheckMs, true);
  }

  /** The same as `answer`, but asks again however new the answer is. */
  renew(question: Question): Answer | Promise<Answer> {
    return this.#answer(question, 0, false);
  }

  #answer(question: Question, maxAgeMs: number, isRecheck: boolean): Answer | Promise<Answer> {
    const { kind, line } = this.#options;
    const key = kind.keyOf(question);
    const known = this.#known(key, maxAgeMs);
    // While the API server is away, all that is known is answered without it: one question has to find out that it is back.
    if (known !== undefined && line.isAway && line.size === 0) void this.#ask(question, key, isRecheck);
    return known ?? this.#refusals.of(key) ?? this.#ask(question, key, isRecheck);
  }

  /** Forgets a refusal, so that the next call asks again. */
  forgetRefusal(question: Question): void {
    this.#refusals.forget(this.#options.kind.keyOf(question));
  }

  /** Forgets a granted answer. */
  forget(question: Question): void {
    this.#granted.delete(this.#options.kind.keyOf(question));
  }

  /** Keeps a granted answer that was found in another way. */
  learn(question: Question, answer: Answer): void {
    this.#keepGranted(this.#options.kind.keyOf(question), answer);
  }

  /** A granted answer that is neither in doubt nor older than this, or, while the API server is away, that still counts. */
  #known(key: string, maxAgeMs: number): Answer | undefined {
    const granted = this.#granted.get(key);
    if (granted === undefined) return undefined;
    this.#granted.delete(key);
    this.#granted.set(key, granted);
    if (granted.refusedOnceAtMs === undefined && this.#ageMs(granted) < maxAgeMs) return granted.answer;
    return this.#options.line.isAway ? this.#lastingOf(key) : undefined;
  }

  /** A granted answer that counts while the API server is away. */
  #lastingOf(key: string): Answer | undefined {
    const granted = this.#granted.get(key);
    if (granted === undefined || this.#ageMs(granted) >= this.#options.times.awayMs) return undefined;
    return granted.answer;
  }

  #ageMs({ atMs }: Granted<Answer>): number {
    return this.#options.clock.monotonicMs() - atMs;
  }

  #ask(question: Question, key: string, isRecheck: boolean): Promise<Answer> {
    const { kind, line } = this.#options;
    const known = this.#pending.get(key);
    if (known !== undefined) {
      if (isRecheck && !known.task.isRecheck) {
        known.task.isRecheck = true;
        line.promote(known.task);
      }
      return known.promise;
    }
    const asker = kind.askerOf(question);
    const isGuess = !this.#granted.has(key);
    if (isGuess && (this.#pendingBy.of(asker) >= maxPendingPerAsker || this.#refusals.areTooMany(asker)))
      throw exhausted();
    if (isGuess && this.#budgets?.take(asker) === false) throw tooMany();
    const { promise, resolve, reject } = deferred<Answer>();
    // A caller may be gone by then.
    promise.catch(() => undefined);
    const task: Pending<Answer>["task"] = {
      asker,
      isRecheck,
      ask: async (signal) => {
        if (this.#pending.get(key) !== pending) return false;
        pending.isAsked = true;
        if (isGuess && this.#refusals.areTooMany(asker)) {
          this.#settle(key)?.reject(exhausted());
          return false;
        }
        this.#answered(key, await this.#review(question, key, signal), pending);
        return true;
      },
      rejected: () => this.#answered(key, kind.rejected, pending),
    };
    const pending: Pending<Answer> = { task, asker, isAsked: false, promise, resolve, reject };
    this.#pending.set(key, pending);
    this.#pendingBy.add(asker, 1);
    this.#patience.start(key);
    line.add(task);
    return promise;
  }

  async #review(question: Question, key: string, signal: AbortSignal): Promise<Answer> {
    const { kind, onReview } = this.#options;
    try {
      const answer = await kind.ask(question, signal, this.#granted.get(key)?.answer);
      onReview?.(kind.isGranted(answer) ? "granted" : "refused");
      return answer;
    } catch (error) {
      onReview?.((error as KubeError).code === "INVALID" ? "refused" : "failed");
      throw error;
    }
  }

  #answered(key: string, answer: Answer, pending: Pending<Answer>): void {
    const { kind } = this.#options;
    if (kind.isGranted(answer)) this.#keepGranted(key, answer);
    else if (this.#isDoubtful(key, pending)) return;
    else {
      this.#granted.delete(key);
      this.#refusals.keep(key, answer, pending.asker);
    }
    // An answer after its question was given up counts as well.
    if (this.#pending.get(key) === pending) this.#settle(key)?.resolve(answer);
  }

  /** True if this refusal is too early to count: it puts the granted answer in doubt, and the question is asked again if it still waits. */
  #isDoubtful(key: string, pending: Pending<Answer>): boolean {
    const { line, clock } = this.#options;
    const granted = this.#granted.get(key);
    if (granted === undefined) return false;
    granted.refusedOnceAtMs ??= clock.monotonicMs();
    const leftMs = granted.refusedOnceAtMs + secondLookMs - clock.monotonicMs();
    if (leftMs <= 0) return false;
    clock.after(leftMs, () => {
      if (this.#pending.get(key) === pending) line.add(pending.task);
    });
    return true;
  }

  #settle(key: string): Pending<Answer> | undefined {
    const pending = this.#pending.get(key);
    if (pending === undefined) return undefined;
    this.#pending.delete(key);
    this.#pendingBy.add(pending.asker, -1);
    this.#patience.cancel(key);
    return pending;
  }

  /** There is no answer in time: what was granted before is the answer, unless it is in doubt and the API server answers others. */
  #giveUp(key: string): void {
    const pending = this.#settle(key);
    if (pending === undefined) return;
    this.#options.line.delete(pending.task);
    const isInDoubt = this.#granted.get(key)?.refusedOnceAtMs !== undefined;
    const lasting = isInDoubt && !this.#options.line.isAway ? undefined : this.#lastingOf(key);
    if (lasting === undefined) pending.reject(this.#unanswered(pending));
    else pending.resolve(lasting);
  }

  #unanswered({ isAsked }: Pending<Answer>): ReviewError {
    const { isAway, isForbidden } = this.#options.line;
    let message = "the API server does not answer; try again";
    if (isForbidden) message = "the proxy lacks a permission at the API server, which its log names";
    else if (!isAsked && !isAway)
      message = "more is to be found out than the API server is asked at a time; try again";
    return new ReviewError("UNANSWERED", message);
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

function exhausted(): ReviewError {
  return new ReviewError(
    "EXHAUSTED",
    "it has asked for too much that it may not read; try again in half a minute",
  );
}

function tooMany(): ReviewError {
  return new ReviewError("EXHAUSTED", "it has asked too many new questions; try again in half a minute");
}
