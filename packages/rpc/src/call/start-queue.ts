import type { Clock } from "@bunting/runtime";

/** A stream that waits for its turn. */
export interface Starter {
  /** Its connection. Streams of one connection share turns. */
  readonly connection: object;
  /** Its turn has come. */
  start(): void;
}

export interface StartQueueOptions {
  /** Streams per second. */
  readonly perSecond: number;
  /** Streams that may start at once after a quiet time. */
  readonly burst: number;
  readonly clock: Clock;
  /** Streams that began (1) or stopped (-1) waiting. */
  readonly onWaiting: (delta: 1 | -1) => void;
}

const turnMs = 10;

/**
 * Spreads what streams cost at their start over some seconds, if many come at once, so that all else continues meanwhile. Connections take
 * turns: one with a thousand streams does not delay a thousand with one. One timer serves all streams.
 */
export class StartQueue {
  readonly #options: StartQueueOptions;
  /** By connection, in the order of their turns; each has at least one stream. */
  readonly #waiting = new Map<object, Set<Starter>>();
  #tokens: number;
  #countedMs: number;
  #isTurnDue = false;

  constructor(options: StartQueueOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#countedMs = options.clock.monotonicMs();
  }

  /** True if the stream may start at once; else `start` is called when its turn comes, unless it leaves. */
  enter(starter: Starter): boolean {
    this.#countTokens();
    if (this.#waiting.size === 0 && this.#tokens >= 1) {
      this.#tokens--;
      return true;
    }
    const ofConnection = this.#waiting.get(starter.connection);
    if (ofConnection === undefined) this.#waiting.set(starter.connection, new Set([starter]));
    else ofConnection.add(starter);
    this.#options.onWaiting(1);
    this.#askForTurn();
    return false;
  }

  /** The stream has ended, or has started otherwise. Does nothing if it does not wait. */
  leave(starter: Starter): void {
    const starters = this.#waiting.get(starter.connection);
    if (starters?.delete(starter) !== true) return;
    this.#options.onWaiting(-1);
    if (starters.size === 0) this.#waiting.delete(starter.connection);
  }

  #askForTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    this.#options.clock.after(turnMs, () => {
      this.#isTurnDue = false;
      this.#countTokens();
      this.#startSome();
      if (this.#waiting.size > 0) this.#askForTurn();
    });
  }

  #startSome(): void {
    for (const [connection, starters] of this.#waiting) {
      if (this.#tokens < 1) return;
      // To the end of the map, where this loop reaches it again.
      this.#waiting.delete(connection);
      const [first] = starters;
      if (first === undefined) continue;
      starters.delete(first);
      if (starters.size > 0) this.#waiting.set(connection, starters);
      this.#tokens--;
      this.#options.onWaiting(-1);
      first.start();
    }
  }

  #countTokens(): void {
    const { clock, perSecond, burst } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#countedMs) * perSecond) / 1_000);
    this.#countedMs = nowMs;
  }
}
