import type { Clock } from "@bunting/runtime";

/** The state of the circuit breaker to Redis. */
export type DegradedState =
  | "connected" // closed: the replica follows what others own. Redis works, or has not failed for long enough.
  | "degraded" // open: Redis is unreachable or refuses to work, and the replica watches everything itself.
  | "recovering"; // half-open: Redis works again, and the replica watches everything itself until Redis is stable.

export interface DegradedModeOptions {
  readonly clock: Clock;
  readonly onChange: (state: DegradedState, before: DegradedState) => void;
  /** Time, in ms, for which Redis must work without a pause before the breaker closes. */
  readonly stableMs: number;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

/** Outage budget: total time that Redis may be unreachable before the breaker opens. */
const outageBudgetMs = 2_000;
/** Budget that returns for each ms that Redis works. It is small: a Redis that is unreachable half of the time is no help. */
const refill = 0.1;
/** Jitter of opening: replicas lose Redis at the same moment, and the API server must not meet all watches at once. */
const degradeSpreadMs = 1_000;
/** The longest `stableMs`, which doubles whenever Redis fails again soon after it has recovered. */
const maxStableMs = 300_000;
/** A recovery that lasted this long counts as stable. */
const calmMs = 60_000;
/** Jitter of closing, in parts of `stableMs`. */
const recoverSpread = 0.5;

/**
 * The circuit breaker between a replica and Redis. The connection and the heartbeats of the membership report to it by
 * `up` and `down`; it knows no connection and no watches.
 *
 * Invariants:
 * - Outages use up a budget of 2 s, which returns slowly while Redis works; the breaker opens when the budget is used up.
 * - The breaker closes after `stableMs` of uninterrupted work, which doubles each time Redis fails soon after.
 * - Opening and closing have jitter, so that replicas do not move all their watches at the same moment.
 */
export class DegradedMode {
  readonly #options: DegradedModeOptions;
  #state: DegradedState = "connected";
  #isUp = true;
  #changedMs: number;
  #outageBudgetMs = outageBudgetMs;
  #stableMs: number;
  /** Time at which the breaker closed last; undefined before the first opening. */
  #recoveredMs: number | undefined;
  #cancel = (): void => undefined;

  constructor(options: DegradedModeOptions) {
    this.#options = options;
    this.#stableMs = options.stableMs;
    this.#changedMs = options.clock.monotonicMs();
  }

  get state(): DegradedState {
    return this.#state;
  }

  /** Reports that Redis works. Repeated reports change nothing. */
  up(): void {
    if (this.#isUp) return;
    const outageMs = this.#flip(true);
    if (this.#state === "connected") this.#outageBudgetMs = Math.max(0, this.#outageBudgetMs - outageMs);
    else {
      this.#set("recovering");
      this.#after(this.#stableMs * (1 + recoverSpread * this.#random()), () => this.#recover());
    }
  }

  /** Reports that Redis is unreachable, at the start as well, or refuses to work. Repeated reports change nothing. */
  down(): void {
    if (!this.#isUp) return;
    const workedMs = this.#flip(false);
    if (this.#state === "connected") {
      this.#outageBudgetMs = Math.min(outageBudgetMs, this.#outageBudgetMs + refill * workedMs);
      this.#after(this.#outageBudgetMs + degradeSpreadMs * this.#random(), () => this.#degrade());
    } else {
      this.#doubleStableMs();
      this.#set("degraded");
    }
  }

  /** Cancels the timer. */
  stop(): void {
    this.#cancel();
  }

  #degrade(): void {
    const sinceMs = this.#recoveredMs === undefined ? Infinity : this.#nowMs() - this.#recoveredMs;
    if (sinceMs < calmMs) this.#doubleStableMs();
    else this.#stableMs = this.#options.stableMs;
    this.#set("degraded");
  }

  #recover(): void {
    this.#recoveredMs = this.#nowMs();
    this.#outageBudgetMs = outageBudgetMs;
    this.#set("connected");
  }

  #doubleStableMs(): void {
    this.#stableMs = Math.min(maxStableMs, 2 * this.#stableMs);
  }

  /** Returns how long the state before has lasted. */
  #flip(isUp: boolean): number {
    this.#cancel();
    const nowMs = this.#nowMs();
    const lastedMs = nowMs - this.#changedMs;
    this.#isUp = isUp;
    this.#changedMs = nowMs;
    return lastedMs;
  }

  #set(state: DegradedState): void {
    const before = this.#state;
    if (before === state) return;
    this.#state = state;
    this.#options.onChange(state, before);
  }

  #after(delayMs: number, callback: () => void): void {
    this.#cancel = this.#options.clock.after(delayMs, callback);
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
