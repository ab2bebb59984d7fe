import type { Clock } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

/** A stream that is about to be sent its first snapshot. */
export interface Starter {
  /** What it shares with others that are to share their turn with it: its connection. */
  readonly connection: object;
  /** It is its turn. False if it has gone, or needs none any more: that costs nobody a turn. */
  start(): boolean;
}

export interface StartQueueOptions {
  /** How many streams may start a second. */
  readonly perSecond: number;
  /** How many may start at once after a quiet time. */
  readonly burst: number;
  readonly clock: Clock;
  readonly metrics: ProxyMetrics;
}

const turnMs = 10;

/**
 * Spreads the first snapshots of a storm of connects (all agents come back at once after an outage) over some seconds, so that accepting
 * connections and broadcasting edits go on meanwhile. Connections take turns: one with a thousand streams does not hold up a thousand
 * with one. Who waits has its response headers already, and gets what is newest when its turn comes.
 */
export class StartQueue {
  readonly #options: StartQueueOptions;
  /** In the order of their turns; each has at least one. */
  readonly #waiting = new Map<object, Starter[]>();
  #tokens: number;
  #countedMs: number;
  #isTurnDue = false;

  constructor(options: StartQueueOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#countedMs = options.clock.monotonicMs();
  }

  /** True if it may start at once; else `start` is called when it is its turn. */
  enter(starter: Starter): boolean {
    this.#countTokens();
    if (this.#waiting.size === 0 && this.#tokens >= 1) {
      this.#tokens--;
      return true;
    }
    const ofConnection = this.#waiting.get(starter.connection);
    if (ofConnection === undefined) this.#waiting.set(starter.connection, [starter]);
    else ofConnection.push(starter);
    this.#options.metrics.queuedStarts(1);
    this.#askForTurn();
    return false;
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
      // To the end of the row; the walk comes by there again.
      this.#waiting.delete(connection);
      let hasStarted = false;
      while (!hasStarted && starters.length > 0) {
        hasStarted = starters.shift()?.start() === true;
        this.#options.metrics.queuedStarts(-1);
      }
      if (hasStarted) this.#tokens--;
      if (starters.length > 0) this.#waiting.set(connection, starters);
    }
  }

  #countTokens(): void {
    const { clock, perSecond, burst } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#countedMs) * perSecond) / 1_000);
    this.#countedMs = nowMs;
  }
}
