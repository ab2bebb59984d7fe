import { KubeError } from "@bunting/kube";
import {
  aborted,
  Backoff,
  FairQueue,
  TokenBucket,
  type Clock,
  type Logger,
  type Runnable,
} from "@bunting/runtime";

/** A question to the API server that waits for its turn. */
export interface LineTask {
  /** Whose turn it takes. */
  readonly asker: unknown;
  /** Whether open streams rely on its answer: it goes before questions of newcomers. */
  readonly isRecheck: boolean;
  /** Asks; false if it had nothing left to ask. Its rejection with a KubeError makes the line wait and ask again, except for INVALID, which would be rejected again. */
  ask(signal: AbortSignal): Promise<boolean>;
  /** The API server rejects the question itself. */
  rejected(error: KubeError): void;
}

export interface ApiLineLimits {
  /** How many questions may be under way at once; 16 if not given. */
  readonly maxConcurrent?: number;
  /** How many questions are asked per second at most; 300 if not given. */
  readonly perSecond?: number;
  /** How many at once after a quiet time; as many as per second if not given. */
  readonly burst?: number;
  /** Of so many turns, newcomers have one while rechecks wait: they are late then, but do not wait for ever. 8 if not given. */
  readonly turnsPerNewcomer?: number;
}

export interface ApiLineOptions extends ApiLineLimits {
  /** What the proxy's ServiceAccount has to be allowed to ask, in the words of RBAC: "create on tokenreviews.authentication.k8s.io". */
  readonly permission: string;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
  /** How long the API server may take to answer, in ms; 5,000 if not given. */
  readonly answerWithinMs?: number;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

/**
 * The line in which all questions of a kind about peers wait for the API server: only so many at once and per second, askers take turns, and after a
 * failure all of them wait together, while one question at a time finds out whether the API server is back. Rechecks of open streams go before
 * questions of newcomers, so that a flood of these does not keep a revoked permission alive.
 */
export class ApiLine implements Runnable {
  readonly name = "access-reviews";
  readonly #options: ApiLineOptions;
  readonly #rechecks = new FairQueue<LineTask>();
  readonly #newcomers = new FairQueue<LineTask>();
  readonly #bucket: TokenBucket;
  readonly #backoff: Backoff;
  readonly #awayListeners = new Set<() => void>();
  #signal: AbortSignal | undefined;
  #underWay = 0;
  #isAway = false;
  #isForbidden = false;
  #turns = 0;
  /** When the pause ends that the last failure began, in ms of the monotonic clock. */
  #resumeMs = 0;
  #pausedMs = -1;
  #cancelTimer: (() => void) | undefined;

  constructor(options: ApiLineOptions) {
    this.#options = options;
    const perSecond = options.perSecond ?? 300;
    this.#bucket = new TokenBucket(options.clock, { burst: options.burst ?? perSecond, perSecond });
    this.#backoff = new Backoff({
      firstMs: 500,
      capMs: 10_000,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
  }

  /** True from a question that the API server failed to answer to the next answer: what is known has to do meanwhile. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** True while it is away because the proxy's ServiceAccount may not ask. */
  get isForbidden(): boolean {
    return this.#isForbidden;
  }

  /** How many questions wait for their turn. */
  get size(): number {
    return this.#rechecks.size + this.#newcomers.size;
  }

  /** Calls the listener whenever the API server begins to fail. */
  onAway(listener: () => void): void {
    this.#awayListeners.add(listener);
  }

  add(task: LineTask): void {
    this.#wait(task);
    this.#pump();
  }

  /** The answer is no longer wanted. Has no effect on a question that is under way. */
  delete(task: LineTask): void {
    this.#rechecks.delete(task.asker, task);
    this.#newcomers.delete(task.asker, task);
  }

  /** A newcomer's question has become a recheck. */
  promote(task: LineTask): void {
    const { size } = this.#newcomers;
    this.#newcomers.delete(task.asker, task);
    if (this.#newcomers.size < size) this.#rechecks.add(task.asker, task);
  }

  /** Asks until the signal aborts. */
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
    const places = this.#isAway ? 1 : maxConcurrent;
    while (this.size > 0 && this.#underWay < places) {
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

  #next(): LineTask | undefined {
    const { turnsPerNewcomer = 8 } = this.#options;
    const isForNewcomer = ++this.#turns % turnsPerNewcomer === 0 && this.#newcomers.size > 0;
    const turns = isForNewcomer || this.#rechecks.size === 0 ? this.#newcomers : this.#rechecks;
    const [task] = turns;
    if (task === undefined) return undefined;
    turns.delete(task.asker, task);
    turns.moveToBack(task.asker);
    return task;
  }

  #wait(task: LineTask): void {
    (task.isRecheck ? this.#rechecks : this.#newcomers).add(task.asker, task);
  }

  async #ask(task: LineTask, signal: AbortSignal): Promise<void> {
    const { clock, logger, answerWithinMs = 5_000 } = this.#options;
    const startedMs = clock.monotonicMs();
    const timeout = new AbortController();
    const cancel = clock.after(answerWithinMs, () => timeout.abort());
    this.#underWay++;
    try {
      const isAnswered = await task.ask(AbortSignal.any([signal, timeout.signal]));
      if (isAnswered) this.#succeeded();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof KubeError && error.code === "INVALID") {
        this.#succeeded();
        task.rejected(error);
      } else {
        if (!(error instanceof KubeError)) logger.error({ error }, "an access review failed unexpectedly");
        this.#failed(startedMs, timeout.signal.aborted ? answerWithinMs : undefined, error);
        this.#wait(task);
      }
    } finally {
      cancel();
      this.#underWay--;
      this.#pump();
    }
  }

  #succeeded(): void {
    if (this.#isAway) {
      this.#options.logger.info("the API server answers access reviews again");
      this.#isAway = false;
      this.#isForbidden = false;
    }
    this.#resumeMs = 0;
    this.#backoff.reset();
  }

  #failed(startedMs: number, afterMs: number | undefined, error: unknown): void {
    const { clock, logger } = this.#options;
    // Of questions that were under way together, only the first failure counts.
    if (startedMs <= this.#pausedMs) return;
    this.#pausedMs = clock.monotonicMs();
    const retryAfterMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    this.#resumeMs = this.#pausedMs + Math.max(this.#backoff.next(), Math.min(retryAfterMs, 60_000));
    const wasAway = this.#isAway;
    const wasForbidden = this.#isForbidden;
    this.#isAway = true;
    this.#isForbidden = error instanceof KubeError && error.code === "FORBIDDEN";
    // The line about a missing permission is the one that an operator can act on, so it also comes after others.
    if (wasAway && (wasForbidden || !this.#isForbidden)) return;
    logger.warn({ error, ...(afterMs === undefined ? {} : { afterMs }) }, this.#awayMessage());
    if (wasAway) return;
    for (const listener of this.#awayListeners) listener();
  }

  #awayMessage(): string {
    const reason = this.#isForbidden
      ? `the proxy's ServiceAccount lacks a permission that --auth, --authorize or --token-review needs; grant it ${this.#options.permission} in the whole cluster (docs/security.md lists what each option needs)`
      : "the API server does not answer access reviews";
    return `${reason}; peers that are known are served on, new ones wait`;
  }
}
