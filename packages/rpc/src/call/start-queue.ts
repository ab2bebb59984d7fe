import { FairQueue, TokenBucket, type Clock } from "@bunting/runtime";

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
  readonly #tokens: TokenBucket;
  readonly #waiting = new FairQueue<Starter>();
  #isTurnDue = false;

  constructor(options: StartQueueOptions) {
    const { clock, burst, perSecond } = options;
    this.#options = options;
    this.#tokens = new TokenBucket(clock, { burst, perSecond });
  }

  /** True if the stream may start at once; else `start` is called when its turn comes, unless it leaves. */
  enter(starter: Starter): boolean {
    if (this.#waiting.size === 0 && this.#tokens.waitMs === 0) {
      this.#tokens.take();
      return true;
    }
    this.#waiting.add(starter.connection, starter);
    this.#options.onWaiting(1);
    this.#askForTurn();
    return false;
  }

  /** The stream has ended, or has started otherwise. Does nothing if it does not wait. */
  leave(starter: Starter): void {
    if (this.#waiting.delete(starter.connection, starter)) this.#options.onWaiting(-1);
  }

  #askForTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    this.#options.clock.after(turnMs, () => {
      this.#isTurnDue = false;
      this.#startSome();
      if (this.#waiting.size > 0) this.#askForTurn();
    });
  }

  #startSome(): void {
    for (const starter of this.#waiting) {
      if (this.#tokens.waitMs > 0) return;
      this.#tokens.take();
      this.#waiting.moveToBack(starter.connection);
      this.leave(starter);
      starter.start();
    }
  }
}
