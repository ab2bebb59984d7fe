import { KubeError } from "@bunting/kube";
import {
  aborted,
  Backoff,
  FairQueue,
  TokenBucket,
  withTimeLimit,
  type Clock,
  type Logger,
  type Runnable,
} from "@bunting/runtime";

/** A question to the API server that waits in the queue. */
export interface ReviewTask {
  /** Fairness key: callers take turns. */
  readonly caller: unknown;
  /** True if open streams rely on the answer: rechecks go before questions of newcomers. */
  readonly isRecheck: boolean;
  /**
   * Sends the question. Resolves with false if the question is obsolete and nothing was sent. A rejection makes
   * the queue back off and send the question again, except for INVALID: the API server would repeat that.
   */
  ask(signal: AbortSignal): Promise<boolean>;
  /** Called when the API server answers INVALID. */
  rejected(error: KubeError): void;
}

export interface ReviewQueueLimits {
  /** Concurrency limit: the most questions under way at once. Default 16. */
  readonly maxConcurrent?: number;
  /** Rate limit, in questions per second. Default 300. */
  readonly perSecond?: number;
  /** Burst of the rate limit. Default `perSecond`. */
  readonly burst?: number;
  /** While rechecks wait, every so many turns one goes to a newcomer, so that newcomers never starve. Default 8. */
  readonly turnsPerNewcomer?: number;
}

export interface ReviewQueueOptions extends ReviewQueueLimits {
  /**
   * The RBAC permission that the proxy's ServiceAccount needs, for messages: "create on
   * tokenreviews.authentication.k8s.io".
   */
  readonly permission: string;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
  /** Timeout of one question, in ms. Default 5,000. */
  readonly timeoutMs?: number;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

/**
 * The queue of all questions of one kind to the API server: a concurrency limit, a rate limit and a circuit
 * breaker.
 *
 * Invariants:
 * - At most `maxConcurrent` questions are under way, and at most `perSecond` are sent per second.
 * - A failure opens the breaker (`isUnavailable`): questions wait for the backoff, then one at a time probes the
 *   API server. Its first answer closes the breaker.
 * - Failures of questions that were under way together count as one.
 * - Rechecks of open streams go before questions of newcomers, so that a flood of newcomers does not keep a
 *   revoked permission alive. Newcomers still get every `turnsPerNewcomer`-th turn.
 * - Callers take turns within each of both groups.
 */
export class ReviewQueue implements Runnable {
  readonly name = "access-reviews";
  readonly #options: ReviewQueueOptions;
  readonly #rechecks = new FairQueue<ReviewTask>();
  readonly #newcomers = new FairQueue<ReviewTask>();
  readonly #bucket: TokenBucket;
  readonly #backoff: Backoff;
  readonly #unavailableListeners = new Set<() => void>();
  #signal: AbortSignal | undefined;
  #underWay = 0;
  #isUnavailable = false;
  #isForbidden = false;
  #turns = 0;
  /** End of the current backoff, in ms of the monotonic clock. */
  #resumeMs = 0;
  #failedAtMs = -1;
  #cancelTimer: (() => void) | undefined;

  constructor(options: ReviewQueueOptions) {
    this.#options = options;
    const perSecond = options.perSecond ?? 300;
    this.#bucket = new TokenBucket(options.clock, { burst: options.burst ?? perSecond, perSecond });
    this.#backoff = new Backoff({
      firstMs: 500,
      capMs: 10_000,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
  }

  /** True while the breaker is open: from a failed question to the next answer. Caches serve stale answers meanwhile. */
  get isUnavailable(): boolean {
    return this.#isUnavailable;
  }

  /** True while the breaker is open because the proxy's ServiceAccount lacks the permission to ask. */
  get isForbidden(): boolean {
    return this.#isForbidden;
  }

  /** The number of questions that wait. */
  get size(): number {
    return this.#rechecks.size + this.#newcomers.size;
  }

  /** Calls the listener each time the breaker opens. */
  onUnavailable(listener: () => void): void {
    this.#unavailableListeners.add(listener);
  }

  add(task: ReviewTask): void {
    this.#wait(task);
    this.#pump();
  }

  /** Removes a question that waits. Has no effect on a question that is under way. */
  delete(task: ReviewTask): void {
    this.#rechecks.delete(task.caller, task);
    this.#newcomers.delete(task.caller, task);
  }

  /** Moves a newcomer's question to the rechecks. */
  promote(task: ReviewTask): void {
    const { size } = this.#newcomers;
    this.#newcomers.delete(task.caller, task);
    if (this.#newcomers.size < size) this.#rechecks.add(task.caller, task);
  }

  /** Sends questions until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#pump();
    await aborted(signal);
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #pump(): void {
    const { clock, maxConcurrent = 16 } = this.#options;
    if (this.#signal === undefined || this.#signal.aborted) return;
    const slots = this.#isUnavailable ? 1 : maxConcurrent;
    while (this.size > 0 && this.#underWay < slots) {
      const waitMs = Math.max(this.#resumeMs - clock.monotonicMs(), this.#bucket.waitMs);
      if (waitMs > 0) {
        this.#cancelTimer?.();
        this.#cancelTimer = clock.after(waitMs, () => this.#pump());
        return;
      }
      const task = this.#next();
      if (task === undefined) return;
      this.#bucket.take();
      void this.#ask(task, this.#signal);
    }
  }

  #next(): ReviewTask | undefined {
    const { turnsPerNewcomer = 8 } = this.#options;
    const isForNewcomer = ++this.#turns % turnsPerNewcomer === 0 && this.#newcomers.size > 0;
    const turns = isForNewcomer || this.#rechecks.size === 0 ? this.#newcomers : this.#rechecks;
    const [task] = turns;
    if (task === undefined) return undefined;
    turns.delete(task.caller, task);
    turns.moveToBack(task.caller);
    return task;
  }

  #wait(task: ReviewTask): void {
    (task.isRecheck ? this.#rechecks : this.#newcomers).add(task.caller, task);
  }

  async #ask(task: ReviewTask, signal: AbortSignal): Promise<void> {
    const { clock, logger, timeoutMs = 5_000 } = this.#options;
    const startedMs = clock.monotonicMs();
    let afterMs: number | undefined;
    const late = (cause: unknown): Error => {
      afterMs = timeoutMs;
      return cause as Error;
    };
    this.#underWay++;
    try {
      const isAnswered = await withTimeLimit(signal, timeoutMs, (limit) => task.ask(limit), { clock, late });
      if (isAnswered) this.#succeeded();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof KubeError && error.code === "INVALID") {
        this.#succeeded();
        task.rejected(error);
      } else {
        if (!(error instanceof KubeError)) logger.error({ error }, "an access review failed unexpectedly");
        this.#failed(startedMs, afterMs, error);
        this.#wait(task);
      }
    } finally {
      this.#underWay--;
      this.#pump();
    }
  }

  #succeeded(): void {
    if (this.#isUnavailable) {
      this.#options.logger.info("the API server answers access reviews again");
      this.#isUnavailable = false;
      this.#isForbidden = false;
    }
    this.#resumeMs = 0;
    this.#backoff.reset();
  }

  #failed(startedMs: number, afterMs: number | undefined, error: unknown): void {
    const { clock, logger } = this.#options;
    // Questions that were under way together fail together, which is one failure.
    if (startedMs <= this.#failedAtMs) return;
    this.#failedAtMs = clock.monotonicMs();
    const retryAfterMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    this.#resumeMs = this.#failedAtMs + Math.max(this.#backoff.next(), Math.min(retryAfterMs, 60_000));
    const wasUnavailable = this.#isUnavailable;
    const wasForbidden = this.#isForbidden;
    this.#isUnavailable = true;
    this.#isForbidden = error instanceof KubeError && error.code === "FORBIDDEN";
    // A missing permission is logged after another failure too: it is the one that an operator can act on.
    if (wasUnavailable && (wasForbidden || !this.#isForbidden)) return;
    logger.warn({ error, ...(afterMs === undefined ? {} : { afterMs }) }, this.#unavailableMessage());
    if (wasUnavailable) return;
    for (const listener of this.#unavailableListeners) listener();
  }

  #unavailableMessage(): string {
    const reason = this.#isForbidden
      ? `the proxy's ServiceAccount lacks a permission that --auth, --authorize or --token-review needs; grant it ${this.#options.permission} in the whole cluster (docs/operate/security.md lists what each option needs)`
      : "the API server does not answer access reviews";
    return `${reason}; peers that are known are served on, new ones wait`;
  }
}
