import { setMaxListeners } from "node:events";
import { FairQueue, TokenBucket, type Clock, type Rate } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { WatchPriority } from "../watch-priority.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import { RbacRefusals, type RefusableRequest } from "./rbac-refusals.js";

/** A watch or read that asks for admission. Once its scope has been in sync, its priority is `normal`. */
export interface WatchRequest extends RefusableRequest {
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

/** Of the waiting requests that RBAC will probably refuse, those that may be next. */
interface RiskyWaiters {
  readonly first: Waiter;
  readonly safest: Waiter;
  /** Of the safest; see RbacRefusals. */
  readonly lowestRisk: number;
}

const defaultSpeculativeRate: Rate = { burst: 512, perSecond: 32 };
/** Share of the slots that speculative requests may hold: normal ones do not wait for answers that never come. */
const speculativePercent = 75;
/** A request that is under way for longer, because its answer drips in, leaves its slot to others. */
const maxOpeningMs = 90_000;

/**
 * Decides when watches are opened: a concurrency limit, a circuit breaker, and rate limits for requests that will
 * probably be refused or find nothing. An API server that has just started, or has ended all watches of a type at
 * once, must not meet all requests together: it answers 429, and a WatchList costs it most while it opens.
 *
 * Invariants:
 * - At most `slots` requests are under way, fewer while the circuit breaker is open. They are admitted first come, first
 *   served, except as below.
 * - Requests that RBAC will probably refuse share a rate, whatever their number; see RbacRefusals.
 * - Speculative requests wait apart, take turns by peer, and hold at most three quarters of the slots. Each takes a
 *   token, and returns it if the scope turns out not to be empty. Tokens limit the rate even if peers give their
 *   requests up at once.
 */
export class WatchAdmission {
  readonly #options: WatchAdmissionOptions;
  readonly #breaker: CircuitBreaker;
  readonly #refusals: RbacRefusals;
  /** Requests of normal priority; they go before the speculative ones. */
  readonly #waiting = new Set<Waiter>();
  readonly #speculative = new FairQueue<Waiter>();
  readonly #tokens: TokenBucket;
  #inUse = 0;
  #speculativeInUse = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(options: WatchAdmissionOptions) {
    const { slots = 20, speculative = defaultSpeculativeRate, random, clock } = options;
    this.#options = options;
    this.#breaker = new CircuitBreaker(clock, slots, random);
    this.#refusals = new RbacRefusals(clock);
    this.#tokens = new TokenBucket(clock, speculative);
  }

  /** The number of requests under way. */
  get inUse(): number {
    return this.#inUse;
  }

  get waitingSpeculative(): number {
    return this.#speculative.size;
  }

  /** The error because of which requests like this one are delayed; undefined without one. */
  reasonToWait({ namespace }: WatchRequest): KubeError | undefined {
    return this.#breaker.failure ?? this.#refusals.expectedIn(namespace);
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
      succeeded: () =>
        end(() => {
          this.#breaker.answered();
          this.#refusals.allowed(request);
        }),
      failed: (error) => end(() => this.#failed(request, error), concernsAll(error)),
      leave: () => end(() => undefined),
      unused: () => end(() => undefined, true),
    };
  }

  /** Admits every request that may be sent now, and sets a timer for the next. */
  #serve(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (!this.#areAnyWaiting() || this.#inUse >= this.#breaker.limit) return;
    if (this.#breaker.waitMs > 0) {
      this.#wake(this.#breaker.waitMs);
      return;
    }
    const risky = this.#admitSafe();
    if (this.#inUse >= this.#breaker.limit) return;
    if (risky !== undefined && this.#refusals.waitMs <= 0) this.#admitOneOf(risky);
    const riskyMs = risky === undefined ? Infinity : this.#refusals.waitMs;
    const { waitMs } = this.#tokens;
    const nextMs = this.#speculative.size > 0 && waitMs > 0 ? Math.min(riskyMs, waitMs) : riskyMs;
    if (nextMs < Infinity && this.#areAnyWaiting()) this.#wake(nextMs);
  }

  #areAnyWaiting(): boolean {
    return this.#waiting.size + this.#speculative.size > 0;
  }

  /** Admits requests that no refusal concerns, as far as there are slots. Returns the others, if it came to the end of those that wait. */
  #admitSafe(): RiskyWaiters | undefined {
    let risky: RiskyWaiters | undefined;
    for (const waiter of this.#candidates()) {
      const risk = this.#refusals.riskOf(waiter.request);
      if (risk === 0) {
        this.#admit(waiter);
        if (this.#inUse >= this.#breaker.limit) return undefined;
      } else if (risky === undefined || risk < risky.lowestRisk)
        risky = { first: risky?.first ?? waiter, safest: waiter, lowestRisk: risk };
    }
    return risky;
  }

  /** Admits the safest, or the first where it is its turn: none starves. One that was once in sync always goes before those that never were. */
  #admitOneOf({ first, safest, lowestRisk }: RiskyWaiters): void {
    const isTurnOfFirst = this.#refusals.takeTurn();
    this.#admit(isTurnOfFirst && lowestRisk > 1 ? first : safest);
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
      this.#speculativeInUse < Math.ceil((this.#breaker.limit * speculativePercent) / 100) &&
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

  #failed(request: WatchRequest, error: KubeError): void {
    if (error.code === "FORBIDDEN") {
      this.#breaker.answered();
      this.#refusals.refused(request, error);
    } else if (concernsAll(error)) this.#breaker.failed(error);
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
