import { Backoff, sleep, type Runnable, type Context, type Logger } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { KubeClient } from "../rest/rest-client.js";
import type { ResourceScope } from "../rest/resource.js";
import type { WatchPriority } from "../watch-priority.js";
import type { Epochs } from "./epochs.js";
import type { AdmittedWatch, WatchRequest, WatchAdmission } from "./watch-admission.js";
import type { ReflectorHandler, ReflectorMetrics, RelistReason } from "./reflector-handler.js";
import { WatchAttempt, type WatchPosition } from "./watch-attempt.js";
import type { WatchListSupport } from "./watch-list-support.js";

/** Parts that all reflectors of one resource type share. */
export interface ReflectorShared {
  readonly client: KubeClient;
  readonly epochs: Epochs;
  /** Decides when each watch is opened. */
  readonly admission: WatchAdmission;
  readonly watchList: WatchListSupport;
  readonly context: Context<ReflectorMetrics>;
  /** The shortest `timeoutSeconds` of a watch. Each watch asks for a random time of up to twice this. */
  readonly timeoutSeconds: number;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

export interface ReflectorOptions extends ReflectorShared {
  readonly scope: ResourceScope;
  readonly handler: ReflectorHandler;
  /**
   * True if a watch that the API server closed in good order resumes at its position. False if every watch begins
   * with a consistent read: for single objects, where a read costs as little and finds what a resumption may hide.
   */
  readonly resumesAfterClose: boolean;
  /** Priority of the watch, asked for at each decision. Absent: always `normal`. */
  readonly priority?: () => WatchPriority;
  /** Fairness key: speculative watches of different peers take turns. Absent: one key for all. */
  readonly peer?: unknown;
}

/** A watch that was open for this long was healthy: it resets the backoff. */
const healthyMs = 120_000;
/** A watch that ends sooner than this without an event is a failure, even if closed in good order: no tight loop. */
const tooShortMs = 1_000;
const maxRetryAfterMs = 60_000;

/**
 * Keeps a handler in sync with one scope of one resource type, as client-go's reflector does: a consistent read, then
 * a watch, again and again until the signal aborts. A reflector holds no objects. A watch resumes at its last
 * resourceVersion only where the API server closed it in good order: on an etcd that was restored meanwhile, a resumed
 * watch would stay open and silent for ever.
 */
export class Reflector implements Runnable, WatchRequest {
  readonly name = "reflector";
  readonly namespace: string | undefined;
  readonly #options: ReflectorOptions;
  readonly #handler: ReflectorHandler;
  readonly #backoff: Backoff;
  #attempt: WatchAttempt | undefined;
  #abortAttempt = new AbortController();
  #isAsked = false;
  #isSynced = false;
  #hasBeenSynced = false;
  #hasStopped = false;

  constructor(options: ReflectorOptions) {
    this.namespace = options.scope.namespace;
    this.#options = options;
    this.#handler = guardedHandler(options.handler, options.context.logger);
    const { random = Math.random } = options;
    this.#backoff = new Backoff({ firstMs: 800, capMs: 30_000, random });
  }

  /** True from a completed read, or a resumption, to the end of that watch. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  get hasBeenSynced(): boolean {
    return this.#hasBeenSynced;
  }

  get priority(): WatchPriority {
    return this.#options.priority?.() ?? "normal";
  }

  get peer(): unknown {
    return this.#options.peer;
  }

  /** The error because of which the next attempt is delayed; undefined without one. */
  get reasonToWait(): KubeError | undefined {
    return this.#options.admission.reasonToWait(this);
  }

  /** Age and silence of the open watch, in ms; undefined while no watch is open. */
  get watch(): { readonly ageMs: number; readonly silenceMs: number } | undefined {
    if (this.#attempt?.openedMs === undefined) return undefined;
    const nowMs = this.#options.context.clock.monotonicMs();
    return { ageMs: nowMs - this.#attempt.openedMs, silenceMs: nowMs - this.#attempt.lastBytesMs };
  }

  /** Ends the current watch and reads everything again. */
  relist(): void {
    this.#isAsked = true;
    this.#abortAttempt.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => {
      this.#hasStopped = true;
      this.#abortAttempt.abort();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    let position: WatchPosition | undefined;
    let reason: RelistReason = "start";
    while (!signal.aborted) {
      if (this.#takeRequest()) {
        position = undefined;
        reason = "asked";
      }
      const attemptSignal = this.#abortAttempt.signal;
      const outcome = await this.#try(position, reason, attemptSignal);
      ({ position, reason } = outcome);
      if (outcome.waitMs > 0) await sleep(outcome.waitMs, attemptSignal, this.#options.context.clock);
    }
    signal.removeEventListener("abort", onAbort);
  }

  /** True if a relist was requested since the last attempt. Requests from here on are for the attempt after this one. */
  #takeRequest(): boolean {
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    this.#abortAttempt = new AbortController();
    return isAsked;
  }

  async #try(from: WatchPosition | undefined, reason: RelistReason, signal: AbortSignal): Promise<Outcome> {
    const { admission } = this.#options;
    const { metrics } = this.#options.context;
    let admitted: AdmittedWatch | undefined;
    let attempt: WatchAttempt | undefined;
    try {
      const watch = (admitted = await admission.acquire(this, signal));
      signal.throwIfAborted();
      if (from === undefined) metrics.relist(reason);
      attempt = this.#attempt = new WatchAttempt(
        {
          ...this.#options,
          handler: this.#handler,
          timeoutSeconds: this.#timeoutSeconds(),
          priority: () => this.priority,
          onSynced: () => (this.#isSynced = this.#hasBeenSynced = true),
          onOpened: () => watch.succeeded(),
        },
        from,
      );
      await attempt.run(signal).finally(() => this.#ended(attempt));
      return this.#closed(attempt);
    } catch (error) {
      if (signal.aborted) return { position: undefined, reason: "asked", waitMs: 0 };
      const kubeError = toKubeError(error);
      admitted?.failed(kubeError);
      // A resumption that came too late, or a watch that fell behind, is no failure: everything is read again at once.
      const isStale = from !== undefined || (attempt !== undefined && !this.#wasTooShort(attempt));
      return this.#failed(kubeError, kubeError.code === "EXPIRED" && isStale, attempt);
    } finally {
      admitted?.leave();
    }
  }

  #ended(attempt: WatchAttempt | undefined): void {
    this.#countLife(attempt);
    this.#attempt = undefined;
    if (!this.#isSynced) return;
    this.#isSynced = false;
    if (!this.#hasStopped) this.#handler.interrupted?.();
  }

  /** To be called before the backoff is asked for a delay. */
  #countLife(attempt: WatchAttempt | undefined): void {
    if (attempt?.openedMs === undefined) return;
    if (this.#options.context.clock.monotonicMs() - attempt.openedMs >= healthyMs) this.#backoff.reset();
  }

  #closed(attempt: WatchAttempt): Outcome {
    if (this.#wasTooShort(attempt)) {
      const message = "the API server closed a watch as soon as it was open";
      return this.#failed(new KubeError("CONNECTION_LOST", message), false);
    }
    const { resumesAfterClose, epochs } = this.#options;
    const { position } = attempt;
    const isResumed = resumesAfterClose && position?.epoch === epochs.current;
    return { position: isResumed ? position : undefined, reason: "closed", waitMs: 0 };
  }

  #failed(error: KubeError, isOnlyExpired: boolean, attempt?: WatchAttempt): Outcome {
    this.#options.context.metrics.error(error, this.#options.scope.type);
    if (isOnlyExpired) return { position: undefined, reason: "expired", waitMs: 0 };
    this.#handler.failed?.(error);
    // A read that was not answered is no silence of a watch.
    const isSilence = error.code === "TIMEOUT" && attempt?.openedMs !== undefined;
    const retryAfterMs = Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs);
    return {
      position: undefined,
      reason: error.code === "EXPIRED" ? "expired" : isSilence ? "silent" : "failed",
      waitMs: Math.max(this.#backoff.next(), retryAfterMs),
    };
  }

  #wasTooShort({ openedMs, events }: WatchAttempt): boolean {
    if (openedMs === undefined) return true;
    return events === 0 && this.#options.context.clock.monotonicMs() - openedMs < tooShortMs;
  }

  /** Random, so that watches that were opened together do not end together. */
  #timeoutSeconds(): number {
    const { timeoutSeconds, random = Math.random } = this.#options;
    return Math.ceil(timeoutSeconds * (1 + random()));
  }
}

/** The result of an attempt: how the next one begins. */
interface Outcome {
  /** Position of the next watch; undefined if it begins with a consistent read. */
  readonly position: WatchPosition | undefined;
  readonly reason: RelistReason;
  readonly waitMs: number;
}

/** Everything thrown in an attempt should be a KubeError. Anything else is a bug of ours, and must not end the watch for good. */
function toKubeError(error: unknown): KubeError {
  if (error instanceof KubeError) return error;
  return new KubeError("PROTOCOL", `reading a watch failed: ${String(error)}`, { cause: error });
}

/** Wraps a handler so that its errors are logged: one object that can't be handled must not stop the watch of all others. */
function guardedHandler(handler: ReflectorHandler, logger: Logger): ReflectorHandler {
  const guard = (what: string, act: () => void): void => {
    try {
      act();
    } catch (error) {
      logger.error({ error }, `handling ${what} failed; the watch continues`);
    }
  };
  return {
    beginRead: (namespace) => {
      const read = handler.beginRead(namespace);
      return {
        add: (object, resourceVersion) => guard("an object", () => read.add(object, resourceVersion)),
        remove: (object) => guard("an object", () => read.remove(object)),
        complete: (resourceVersion, epoch) =>
          guard("a consistent read", () => read.complete(resourceVersion, epoch)),
      };
    },
    event: (event, epoch) => guard("an event", () => handler.event(event, epoch)),
    resumed: () => guard("a resumption", () => handler.resumed?.()),
    interrupted: () => guard("the end of a watch", () => handler.interrupted?.()),
    failed: (error) => guard("a failure", () => handler.failed?.(error)),
  };
}
