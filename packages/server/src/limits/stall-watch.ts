import { forEachInSlices, Sweep, systemClock, type Clock } from "@bunting/runtime";
import type { WatchedSession, WatchedStream } from "@bunting/http2";

export interface StallOptions {
  /** Time for which a peer may take nothing of what is pending; 0: no limit. */
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
  readonly #sweep: Sweep;
  #sessions: Iterable<WatchedSession> = [];

  constructor(options: StallOptions, onSessionStalled: () => void) {
    this.#options = options;
    this.#onSessionStalled = onSessionStalled;
    const { timeoutMs, clock = systemClock } = options;
    this.#sweep = new Sweep(clock, timeoutMs === 0 ? Infinity : timeoutMs / ticksPerTimeout, () => {
      this.#tick++;
      this.#resetStalled();
    });
  }

  /** Counts up with time. */
  get tick(): number {
    return this.#tick;
  }

  /** Watches these sessions until `stop`. */
  start(sessions: Iterable<WatchedSession>): void {
    this.#sessions = sessions;
    this.#sweep.start();
  }

  stop(): void {
    this.#sweep.stop();
  }

  #resetStalled(): void {
    // One tick more than the timeout: the one in which the write began was not complete.
    const since = this.#tick - ticksPerTimeout - 1;
    void forEachInSlices(streamsOf(this.#sessions), (stream) => {
      if (!stream.isStalledSince(since)) return;
      this.#options.onStreamStalled?.();
      stream.reset("REFUSED_STREAM");
    });
    void forEachInSlices(this.#sessions, (session) => {
      if (!session.isStalledSince(since)) return;
      this.#onSessionStalled();
      session.destroy();
    });
  }
}

function* streamsOf(sessions: Iterable<WatchedSession>): Generator<WatchedStream> {
  for (const { watchedStreams } of sessions) yield* watchedStreams;
}
