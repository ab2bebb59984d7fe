import { setMaxListeners } from "node:events";
import { Backoff, FairQueue, TokenBucket, type Clock, type Rate } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { WatchPriority } from "../watch-priority.js";

/** A watch or read that asks for admission; the same object each time. */
export interface WatchRequest {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  /** True once the request's scope has been in sync: from then on its priority is `normal`. */
  readonly hasBeenSynced: boolean;
  /** `normal` if absent. */
  readonly priority?: WatchPriority;
  /** Fairness key: speculative requests of different peers take turns. */
  readonly peer?: unknown;
}

/** A request that was admitted. Call exactly one method; later calls have no effect. */
export interface AdmittedWatch {
  succeeded(): void;
  failed(error: KubeError): void;
  /** Gives the request up, which says nothing about the API server. */
  leave(): void;
}

export interface WatchAdmissionOptions {
  readonly clock: Clock;
  /** Concurrency limit: the most requests under way at once. Default 20. */
  readonly slots?: number;
  /** Rate limit of speculative requests whose scope turns out to be empty. Default 32 a second, 512 in a burst. */
  readonly speculative?: Rate;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: (() => number) | undefined;
}

interface Waiter {
  readonly request: WatchRequest;
  /** True if the request was speculative when it came. */
  readonly isSpeculative: boolean;
  readonly admit: () => void;
}

const defaultSpeculativeRate: Rate = { burst: 512, perSecond: 32 };
/** Share of the slots that speculative requests may hold: normal ones do not wait for answers that never come. */
const speculativePercent = 75;
/** Failures in a row that open the circuit breaker. */
const failuresToOpen = 3;
/** Slots while the breaker is open: enough to find out that the API server works again. */
const minSlots = 2;
const firstBackoffMs = 500;
const longestBackoffMs = 5_000;
const maxRetryAfterMs = 30_000;
/** Time between two requests that RBAC will probably refuse, of whatever scopes. */
const refusedEveryMs = 250;
/** Refusals in a row in a namespace that make the next refusal there probable. */
const refusalsToExpect = 3;
/** The most namespaces whose refusals are remembered: peers can name any number. */
const maxNamespaces = 10_000;
/** A request that is under way for longer, because its answer drips in, leaves its slot to others. */
const maxOpeningMs = 90_000;

/**
 * Decides when watches are opened: a concurrency limit, a circuit breaker, and rate limits for requests that will
 * probably be refused or find nothing. An API server that has just started, or has ended all watches of a type at
 * once, must not meet all requests together: it answers 429, and a WatchList costs it most while it opens.
 *
 * Invariants:
 * - At most `slots` requests are under way. Requests are admitted first come, first served, except as below.
 * - Three failures in a row that concern all requests (`concernsAll`) open the breaker: two requests at a time probe
 *   the API server, with backoff. Each success doubles the limit again, up to `slots`.
 * - Requests that RBAC will probably refuse share a rate of four a second, whatever their number, until one of them
 *   is allowed: then RBAC has changed, and `rbacGeneration` increases, which forgets all refusals.
 * - Speculative requests wait apart, take turns by peer, and hold at most three quarters of the slots. Each takes a
 *   token, and returns it if the scope turns out not to be empty. Tokens limit the rate even if peers give their
 *   requests up at once.
 */
export class WatchAdmission {
  readonly #options: WatchAdmissionOptions;
  readonly #slots: number;
  readonly #backoff: Backoff;
  /** Requests of normal priority; they go before the speculative ones. */
  readonly #waiting = new Set<Waiter>();
  readonly #speculative = new FairQueue<Waiter>();
  readonly #tokens: TokenBucket;
  #inUse = 0;
  #speculativeInUse = 0;
  /** The current concurrency limit, from `minSlots` to `slots`. */
  #limit: number;
  #failures = 0;
  #failure: KubeError | undefined;
  #notBeforeMs = 0;
  #rbacGeneration = 1;
  /** The generation in which each request was refused. */
  readonly #refusedIn = new WeakMap<WatchRequest, number>();
  readonly #refusals = new Map<string | undefined, { count: number; error: KubeError }>();
  #refusedNotBeforeMs = 0;
  #isFirstsTurn = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: WatchAdmissionOptions) {
    const { slots = 20, speculative = defaultSpeculativeRate, random, clock } = options;
    this.#options = options;
    this.#slots = this.#limit = slots;
    this.#tokens = new TokenBucket(clock, speculative);
    const backoff = { firstMs: firstBackoffMs, capMs: longestBackoffMs };
    this.#backoff = new Backoff(random === undefined ? backoff : { ...backoff, random });
  }

  /** The number of requests under way. */
  get inUse(): number {
    return this.#inUse;
  }

  /** The number of speculative requests that wait. */
  get waitingSpeculative(): number {
    return this.#speculative.size;
  }

  /** The error because of which requests like this one are delayed; undefined without one. */
  reasonToWait({ namespace }: WatchRequest): KubeError | undefined {
    if (this.#failures >= failuresToOpen) return this.#failure;
    const refusals = this.#refusals.get(namespace);
    return refusals !== undefined && refusals.count >= refusalsToExpect ? refusals.error : undefined;
  }

  /** Resolves when the request may be sent. Rejects with the signal's reason if that aborts first. */
  async acquire(request: WatchRequest, signal: AbortSignal): Promise<AdmittedWatch> {
    signal.throwIfAborted();
    const isSpeculative = request.priority === "speculative" && !request.hasBeenSynced;
    await new Promise<void>((resolve, reject) => {
      // Any number may wait on one signal: that is no leak.
      setMaxListeners(0, signal);
      const onAbort = (): void => {
        this.#forget(waiter);
        this.#serve();
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        request,
        isSpeculative,
        admit: () => {
          signal.removeEventListener("abort", onAbort);
          if (isSpeculative) this.#tokens.take();
          this.#forget(waiter);
          this.#inUse++;
          if (isSpeculative) this.#speculativeInUse++;
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      if (isSpeculative) this.#speculative.add(request.peer, waiter);
      else this.#waiting.add(waiter);
      this.#serve();
    });
    const admitted = this.#admitted(request, isSpeculative);
    if (signal.aborted) admitted.unused();
    signal.throwIfAborted();
    return admitted;
  }

  #forget(waiter: Waiter): void {
    const { request, isSpeculative } = waiter;
    if (isSpeculative) this.#speculative.delete(request.peer, waiter);
    else this.#waiting.delete(waiter);
  }

  #admitted(request: WatchRequest, isSpeculative: boolean): AdmittedWatch & { unused(): void } {
    let isOver = false;
    let holdsSlot = true;
    const releaseSlot = (): void => {
      if (!holdsSlot) return;
      holdsSlot = false;
      cancelTimer();
      this.#inUse--;
      if (isSpeculative) this.#speculativeInUse--;
      this.#serve();
    };
    const cancelTimer = this.#options.clock.after(maxOpeningMs, releaseSlot);
    const end = (note: () => void, isFree = false): void => {
      if (!isOver) {
        note();
        if (isSpeculative && (isFree || request.priority !== "speculative")) this.#tokens.giveBack();
      }
      isOver = true;
      releaseSlot();
    };
    return {
      succeeded: () => end(() => this.#succeeded(request)),
      failed: (error) => end(() => this.#failed(request, error), concernsAll(error)),
      leave: () => end(() => undefined),
      unused: () => end(() => undefined, true),
    };
  }

  /** Admits every request that may be sent now, and sets a timer for the next. */
  #serve(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#waiting.size + this.#speculative.size === 0 || this.#inUse >= this.#limit) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#notBeforeMs) {
      this.#wake(this.#notBeforeMs - nowMs);
      return;
    }
    let first: Waiter | undefined;
    let safest: Waiter | undefined;
    let lowestRisk = Infinity;
    for (const waiter of this.#candidates()) {
      const refusalRisk = this.#refusalRiskOf(waiter.request);
      if (refusalRisk === 0) {
        this.#admit(waiter);
        if (this.#inUse >= this.#limit) return;
        continue;
      }
      first ??= waiter;
      if (refusalRisk < lowestRisk) {
        safest = waiter;
        lowestRisk = refusalRisk;
      }
    }
    let nextMs = Infinity;
    if (first !== undefined && safest !== undefined) {
      if (nowMs >= this.#refusedNotBeforeMs) {
        this.#refusedNotBeforeMs = nowMs + refusedEveryMs;
        // Every other time it is the first that came, so that none starves.
        this.#isFirstsTurn = !this.#isFirstsTurn;
        this.#admit(this.#isFirstsTurn && lowestRisk > 1 ? first : safest);
      }
      nextMs = this.#refusedNotBeforeMs - nowMs;
    }
    const { waitMs } = this.#tokens;
    if (this.#speculative.size > 0 && waitMs > 0) nextMs = Math.min(nextMs, waitMs);
    if (nextMs < Infinity && this.#waiting.size + this.#speculative.size > 0) this.#wake(nextMs);
  }

  /** Waiting requests in order; speculative ones only while they have tokens and slots. */
  *#candidates(): IterableIterator<Waiter> {
    yield* this.#waiting;
    if (this.#speculative.size === 0 || !this.#hasSpeculativeSlot()) return;
    for (const waiter of this.#speculative) {
      yield waiter;
      if (!this.#hasSpeculativeSlot()) return;
    }
  }

  #hasSpeculativeSlot(): boolean {
    return (
      this.#speculativeInUse < Math.ceil((this.#limit * speculativePercent) / 100) &&
      this.#tokens.waitMs === 0
    );
  }

  #admit(waiter: Waiter): void {
    if (waiter.isSpeculative) this.#speculative.moveToBack(waiter.request.peer);
    waiter.admit();
  }

  #wake(afterMs: number): void {
    this.#cancelTimer = this.#options.clock.after(afterMs, () => this.#serve());
  }

  /** 0 without a refusal that concerns the request; else from 1 to 3: first those that were once in sync, then new ones. */
  #refusalRiskOf(request: WatchRequest): number {
    const isRefused = this.#refusedIn.get(request) === this.#rbacGeneration;
    const refusals = this.#refusals.get(request.namespace)?.count ?? 0;
    if (!isRefused && refusals < refusalsToExpect) return 0;
    if (request.hasBeenSynced) return 1;
    return isRefused ? 3 : 2;
  }

  #succeeded(request: WatchRequest): void {
    this.#answered();
    this.#refusals.delete(request.namespace);
    // RBAC has changed, maybe for all other requests too.
    if (this.#refusedIn.get(request) === this.#rbacGeneration) {
      this.#rbacGeneration++;
      this.#refusals.clear();
    }
  }

  /** Closes the breaker: the API server works. */
  #answered(): void {
    this.#limit = Math.min(this.#slots, Math.max(minSlots, this.#limit) * 2);
    this.#failures = 0;
    this.#failure = undefined;
    this.#notBeforeMs = 0;
    this.#backoff.reset();
  }

  #failed(request: WatchRequest, error: KubeError): void {
    if (error.code === "FORBIDDEN") {
      this.#answered();
      this.#refused(request, error);
    } else if (concernsAll(error)) {
      this.#failures++;
      this.#failure = error;
      if (this.#failures >= failuresToOpen) this.#backOff(error);
    }
  }

  #refused(request: WatchRequest, error: KubeError): void {
    const { namespace } = request;
    this.#refusedIn.set(request, this.#rbacGeneration);
    if (this.#refusals.size >= maxNamespaces) this.#refusals.clear();
    this.#refusals.set(namespace, { count: (this.#refusals.get(namespace)?.count ?? 0) + 1, error });
  }

  #backOff(error: KubeError): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#limit = Math.min(minSlots, this.#slots);
    const retryAfterMs = Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs);
    // Requests that were under way together fail together, which is one failure.
    const backoffMs = nowMs < this.#notBeforeMs ? 0 : this.#backoff.next();
    this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + Math.max(backoffMs, retryAfterMs));
  }
}

/** True for errors that all watches of the type would meet. A watch gets 404 only if its type does not exist. */
function concernsAll({ code }: KubeError): boolean {
  switch (code) {
    case "CONNECTION_REFUSED":
    case "CONNECTION_LOST":
    case "TIMEOUT":
    case "UNAUTHORIZED":
    case "NOT_FOUND":
    case "THROTTLED":
    case "SERVER_ERROR":
      return true;
    default:
      return false;
  }
}
