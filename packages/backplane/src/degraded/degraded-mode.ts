import type { Clock } from "@bunting/runtime";

/**
 * Whether a replica relies on Redis.
 *
 * - connected: what others own is followed. Redis works, or has not been away for long enough to say so.
 * - degraded: Redis is away or refuses to work, and the replica watches everything for itself.
 * - recovering: Redis works again, and the replica goes on to watch everything for itself until that has lasted.
 */
export type DegradedState = "connected" | "degraded" | "recovering";

export interface DegradedModeOptions {
  readonly clock: Clock;
  readonly onChange: (state: DegradedState, before: DegradedState) => void;
  /** How long Redis must have worked without a pause before the replica relies on it again, in ms. */
  readonly stableMs: number;
  /** In [0, 1); injected by tests. */
  readonly random?: () => number;
}

/** How long Redis may be away before the replica watches for itself. */
const patienceMs = 2_000;
/** For each ms that Redis works, so much of the patience that was used up comes back: a Redis that is away half of the time is no help. */
const refill = 0.1;
/** Replicas lose Redis at the same moment; the API server sees their watches spread over so long. */
const degradeSpreadMs = 1_000;
/** A Redis that was away again soon after it was relied on has to work twice as long the next time, up to this. */
const maxStableMs = 300_000;
const calmMs = 60_000;
/** Over how long replicas spread their return, in parts of what they waited for. */
const recoverSpread = 0.5;

/**
 * Decides from what the connection and the beats of membership tell when a replica relies on Redis, so that an outage costs seconds, its end no storm, and a Redis that
 * comes and goes is left alone more and more. It knows no connection and no watches.
 */
export class DegradedMode {
  readonly #options: DegradedModeOptions;
  #state: DegradedState = "connected";
  #isUp = true;
  #changedMs: number;
  #patienceMs = patienceMs;
  #stableMs: number;
  /** When the replica relied on Redis again; undefined if it always has. */
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

  /** Redis works. Again, it changes nothing. */
  up(): void {
    if (this.#isUp) return;
    const awayMs = this.#flip(true);
    if (this.#state === "connected") this.#patienceMs = Math.max(0, this.#patienceMs - awayMs);
    else {
      this.#set("recovering");
      this.#after(this.#stableMs * (1 + recoverSpread * this.#random()), () => this.#recover());
    }
  }

  /** There is no connection, at the start as well, until there is one; or Redis refuses to work. Again, it changes nothing. */
  down(): void {
    if (!this.#isUp) return;
    const workedMs = this.#flip(false);
    if (this.#state === "connected") {
      this.#patienceMs = Math.min(patienceMs, this.#patienceMs + refill * workedMs);
      this.#after(this.#patienceMs + degradeSpreadMs * this.#random(), () => this.#degrade());
    } else {
      this.#distrust();
      this.#set("degraded");
    }
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#cancel();
  }

  #degrade(): void {
    const sinceMs = this.#recoveredMs === undefined ? Infinity : this.#nowMs() - this.#recoveredMs;
    if (sinceMs < calmMs) this.#distrust();
    else this.#stableMs = this.#options.stableMs;
    this.#set("degraded");
  }

  #recover(): void {
    this.#recoveredMs = this.#nowMs();
    this.#patienceMs = patienceMs;
    this.#set("connected");
  }

  #distrust(): void {
    this.#stableMs = Math.min(maxStableMs, 2 * this.#stableMs);
  }

  /** Returns how long it was as it was before. */
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
