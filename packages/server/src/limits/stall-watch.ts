import { type Clock, sweepInTurns, systemClock } from "@bunting/runtime";
import type { WatchedSession, WatchedStream } from "@bunting/http2";

export interface StallOptions {
  /** How long a peer may take nothing of what it was sent; 0: for ever. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
  /** Called for each stream that is reset. */
  readonly onStreamStalled?: () => void;
}

/** Ticks in one timeout: a stall is noticed at most an eighth late. */
const ticksPerTimeout = 8;

/**
 * Ends what a peer does not read: responses of any kind of call, their trailers behind them, and connections whose bytes are not taken at
 * all. A write only records the tick at which it began, a small integer: it reads no clock and sets no timer, of which a broadcast would
 * need ten thousand. A sweep at each tick looks for writes that began too long ago.
 */
export class StallWatch {
  readonly #options: StallOptions;
  readonly #onSessionStalled: () => void;
  #tick = 0;
  #cancelNext: (() => void) | undefined;

  constructor(options: StallOptions, onSessionStalled: () => void) {
    this.#options = options;
    this.#onSessionStalled = onSessionStalled;
  }

  /** Counts up with time. */
  get tick(): number {
    return this.#tick;
  }

  /** Watches these sessions until `stop`. */
  start(sessions: Iterable<WatchedSession>): void {
    const { timeoutMs, clock = systemClock } = this.#options;
    if (timeoutMs === 0) return;
    this.#cancelNext = clock.after(timeoutMs / ticksPerTimeout, () => {
      this.start(sessions);
      this.#tick++;
      this.#sweep(sessions);
    });
  }

  stop(): void {
    this.#cancelNext?.();
    this.#cancelNext = undefined;
  }

  #sweep(sessions: Iterable<WatchedSession>): void {
    // One tick more than the timeout: the one in which the write began was not complete.
    const since = this.#tick - ticksPerTimeout - 1;
    sweepInTurns(streamsOf(sessions), (stream) => {
      if (!stream.isStalledSince(since)) return;
      this.#options.onStreamStalled?.();
      stream.reset("REFUSED_STREAM");
    });
    sweepInTurns(sessions, (session) => {
      if (!session.isStalledSince(since)) return;
      this.#onSessionStalled();
      session.destroy();
    });
  }
}

function* streamsOf(sessions: Iterable<WatchedSession>): Generator<WatchedStream> {
  for (const { watchedStreams } of sessions) yield* watchedStreams;
}
