import { setMaxListeners } from "node:events";
import { Backoff, FairQueue, TokenBucket, type Clock, type Rate } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";

/** A watch or read that wants to be opened; the same object each time. */
export interface WatchRequest {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  /** True once it has been in sync: it is no guess of a peer's. */
  readonly hasBeenSynced: boolean;
  /** False while nothing is known to exist in its scope: until it has been in sync, it may be a guess of a peer's. */
  readonly isKnownToExist?: boolean;
  /** Where it comes from: guesses of different askers take turns. */
  readonly asker?: unknown;
}

/** One opening that was admitted. Exactly one method is to be called; later calls have no effect. */
export interface AdmittedWatch {
  succeeded(): void;
  failed(error: KubeError): void;
  /** It was given up, which says nothing about the API server. */
  leave(): void;
}

export interface WatchAdmissionOptions {
  readonly clock: Clock;
  /** How many may be opening at once, 20 by default. */
  readonly places?: number;
  /** How many openings may find nothing: at once, and from then on. 512, and 32 a second by default. */
  readonly guesses?: Rate;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: (() => number) | undefined;
}

interface Waiter {
  readonly opening: WatchRequest;
  /** True if nothing was known to exist in its scope when it was asked for. */
  readonly isGuess: boolean;
  readonly admit: () => void;
}

const usualGuesses: Rate = { burst: 512, perSecond: 32 };
/** Of the places, so many in a hundred guesses may have: what is known to exist does not wait for guesses whose answers do not come. */
const guessedPercent = 75;
/** So many failures without a success in between concern all openings. */
const failuresOfAll = 3;
/** So many may be opening while the API server fails: enough to find out that it works again. */
const leastPlaces = 2;
const firstBackoffMs = 500;
const longestBackoffMs = 5_000;
const maxRetryAfterMs = 30_000;
/** The time between two openings that RBAC will probably refuse, of whatever scopes. */
const refusedEveryMs = 250;
/** So many refusals in a namespace without a success in between make the next one probable. */
const refusalsOfAll = 3;
/** More namespaces than these are forgotten: peers may guess any number. */
const maxNamespaces = 10_000;
/** An opening that takes longer, because the answer drips in, leaves its place to others. */
const longestOpeningMs = 90_000;

/**
 * Decides when watches are opened. An API server that has just started, or ended every watch of a type at once, must not meet all of them
 * together (it answers 429, and a WatchList costs it most while it opens), so a fixed number may be opening at a time.
 *
 * What the first few find out, the others need not: while openings fail for a reason that concerns all (the API server is down, the type
 * does not exist), a few try for all of them, with backoff, and the number grows again with each success. Where RBAC refuses openings,
 * those that it will probably refuse again share a low rate, whatever their number, until one of them is allowed.
 *
 * Names that peers guess share a low rate, too, because a peer may leave them again as soon as they are asked for: such an opening takes a
 * token, and gives it back if something exists there.
 */
export class WatchAdmission {
  readonly #options: WatchAdmissionOptions;
  readonly #places: number;
  readonly #backoff: Backoff;
  /** Those that are no guesses; the others come after them. */
  readonly #waiting = new Set<Waiter>();
  readonly #guesses = new FairQueue<Waiter>();
  readonly #tokens: TokenBucket;
  #inUse = 0;
  #guessesInUse = 0;
  #width: number;
  #failures = 0;
  #failure: KubeError | undefined;
  #notBeforeMs = 0;
  /** The role that counts: another one when RBAC was seen to have changed. */
  #role = 1;
  /** The role that refused each opening. */
  readonly #refusedBy = new WeakMap<WatchRequest, number>();
  readonly #refusals = new Map<string | undefined, { count: number; error: KubeError }>();
  #refusedNotBeforeMs = 0;
  #isFirstsTurn = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: WatchAdmissionOptions) {
    const { places = 20, guesses = usualGuesses, random, clock } = options;
    this.#options = options;
    this.#places = this.#width = places;
    this.#tokens = new TokenBucket(clock, guesses);
    const backoff = { firstMs: firstBackoffMs, capMs: longestBackoffMs };
    this.#backoff = new Backoff(random === undefined ? backoff : { ...backoff, random });
  }

  /** How many are opening. */
  get inUse(): number {
    return this.#inUse;
  }

  /** How many guesses wait. */
  get waitingGuesses(): number {
    return this.#guesses.size;
  }

  /** Why openings like this one have to wait longer than their turn; undefined if they do not. */
  reasonToWait({ namespace }: WatchRequest): KubeError | undefined {
    if (this.#failures >= failuresOfAll) return this.#failure;
    const refusals = this.#refusals.get(namespace);
    return refusals !== undefined && refusals.count >= refusalsOfAll ? refusals.error : undefined;
  }

  /** Resolves when it may begin. Rejects with the signal's reason if that aborts first. */
  async acquire(opening: WatchRequest, signal: AbortSignal): Promise<AdmittedWatch> {
    signal.throwIfAborted();
    const isGuess = opening.isKnownToExist === false && !opening.hasBeenSynced;
    await new Promise<void>((resolve, reject) => {
      // Any number may wait on one signal: that is no leak.
      setMaxListeners(0, signal);
      const onAbort = (): void => {
        this.#forget(waiter);
        this.#serve();
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        opening,
        isGuess,
        admit: () => {
          signal.removeEventListener("abort", onAbort);
          if (isGuess) this.#tokens.take();
          this.#forget(waiter);
          this.#inUse++;
          if (isGuess) this.#guessesInUse++;
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      if (isGuess) this.#guesses.add(opening.asker, waiter);
      else this.#waiting.add(waiter);
      this.#serve();
    });
    const admission = this.#admission(opening, isGuess);
    if (signal.aborted) admission.unused();
    signal.throwIfAborted();
    return admission;
  }

  #forget(waiter: Waiter): void {
    const { opening, isGuess } = waiter;
    if (isGuess) this.#guesses.delete(opening.asker, waiter);
    else this.#waiting.delete(waiter);
  }

  #admission(opening: WatchRequest, isGuess: boolean): AdmittedWatch & { unused(): void } {
    let isOver = false;
    let isPlaceTaken = true;
    const leavePlace = (): void => {
      if (!isPlaceTaken) return;
      isPlaceTaken = false;
      cancelTimer();
      this.#inUse--;
      if (isGuess) this.#guessesInUse--;
      this.#serve();
    };
    const cancelTimer = this.#options.clock.after(longestOpeningMs, leavePlace);
    const end = (note: () => void, isFree = false): void => {
      if (!isOver) {
        note();
        if (isGuess && (isFree || opening.isKnownToExist !== false)) this.#tokens.giveBack();
      }
      isOver = true;
      leavePlace();
    };
    return {
      succeeded: () => end(() => this.#succeeded(opening)),
      failed: (error) => end(() => this.#failed(opening, error), concernsAll(error)),
      leave: () => end(() => undefined),
      unused: () => end(() => undefined, true),
    };
  }

  /** Admits those whose turn it is: first come, first served, but for those that RBAC will probably refuse, and for guesses. */
  #serve(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#waiting.size + this.#guesses.size === 0 || this.#inUse >= this.#width) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#notBeforeMs) {
      this.#wake(this.#notBeforeMs - nowMs);
      return;
    }
    let first: Waiter | undefined;
    let likeliest: Waiter | undefined;
    let leastDoubt = Infinity;
    for (const waiter of this.#inTurn()) {
      const doubt = this.#doubtOf(waiter.opening);
      if (doubt === 0) {
        this.#admit(waiter);
        if (this.#inUse >= this.#width) return;
        continue;
      }
      first ??= waiter;
      if (doubt < leastDoubt) {
        likeliest = waiter;
        leastDoubt = doubt;
      }
    }
    let nextMs = Infinity;
    if (first !== undefined && likeliest !== undefined) {
      if (nowMs >= this.#refusedNotBeforeMs) {
        this.#refusedNotBeforeMs = nowMs + refusedEveryMs;
        // Every other time it is the first in line, so that each has its turn in the end.
        this.#isFirstsTurn = !this.#isFirstsTurn;
        this.#admit(this.#isFirstsTurn && leastDoubt > 1 ? first : likeliest);
      }
      nextMs = this.#refusedNotBeforeMs - nowMs;
    }
    const { waitMs } = this.#tokens;
    if (this.#guesses.size > 0 && waitMs > 0) nextMs = Math.min(nextMs, waitMs);
    if (nextMs < Infinity && this.#waiting.size + this.#guesses.size > 0) this.#wake(nextMs);
  }

  /** Those that may be admitted; guesses only as long as there are tokens, and places for guesses. */
  *#inTurn(): IterableIterator<Waiter> {
    yield* this.#waiting;
    if (this.#guesses.size === 0 || !this.#hasRoomForGuess()) return;
    for (const waiter of this.#guesses) {
      yield waiter;
      if (!this.#hasRoomForGuess()) return;
    }
  }

  #hasRoomForGuess(): boolean {
    return this.#guessesInUse < Math.ceil((this.#width * guessedPercent) / 100) && this.#tokens.waitMs === 0;
  }

  #admit(waiter: Waiter): void {
    if (waiter.isGuess) this.#guesses.moveToBack(waiter.opening.asker);
    waiter.admit();
  }

  #wake(afterMs: number): void {
    this.#cancelTimer = this.#options.clock.after(afterMs, () => this.#serve());
  }

  /** 0 if nothing is known against it; else the higher, the less likely it is to be allowed, or to be missed. */
  #doubtOf(opening: WatchRequest): number {
    const isRefused = this.#refusedBy.get(opening) === this.#role;
    const refusals = this.#refusals.get(opening.namespace)?.count ?? 0;
    if (!isRefused && refusals < refusalsOfAll) return 0;
    if (opening.hasBeenSynced) return 1;
    return isRefused ? 3 : 2;
  }

  #succeeded(opening: WatchRequest): void {
    this.#answered();
    this.#refusals.delete(opening.namespace);
    // RBAC has changed, maybe for all others too.
    if (this.#refusedBy.get(opening) === this.#role) {
      this.#role++;
      this.#refusals.clear();
    }
  }

  /** The API server works. */
  #answered(): void {
    this.#width = Math.min(this.#places, Math.max(leastPlaces, this.#width) * 2);
    this.#failures = 0;
    this.#failure = undefined;
    this.#notBeforeMs = 0;
    this.#backoff.reset();
  }

  #failed(opening: WatchRequest, error: KubeError): void {
    if (error.code === "FORBIDDEN") {
      this.#answered();
      this.#refused(opening, error);
    } else if (concernsAll(error)) {
      this.#failures++;
      this.#failure = error;
      if (this.#failures >= failuresOfAll) this.#backOff(error);
    }
  }

  #refused(opening: WatchRequest, error: KubeError): void {
    const { namespace } = opening;
    this.#refusedBy.set(opening, this.#role);
    if (this.#refusals.size >= maxNamespaces) this.#refusals.clear();
    this.#refusals.set(namespace, { count: (this.#refusals.get(namespace)?.count ?? 0) + 1, error });
  }

  #backOff(error: KubeError): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#width = Math.min(leastPlaces, this.#places);
    const retryAfterMs = Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs);
    // Those that were under way together fail together: that is one failure.
    const backoffMs = nowMs < this.#notBeforeMs ? 0 : this.#backoff.next();
    this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + Math.max(backoffMs, retryAfterMs));
  }
}

/** True for errors that the next watch of the same type would meet too. A watch gets 404 only if there is no such type. */
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
