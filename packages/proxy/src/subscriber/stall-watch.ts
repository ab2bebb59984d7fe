import { aborted, type Clock, type Runnable } from "@bunting/runtime";
import type { RateLimitedLog } from "../rate-limited-log.js";
import type { ProxyMetrics } from "../proxy-metrics.js";

/** A stream that may be held up by its peer. */
export interface Stallable {
  /** True if what it sends has been under way since this tick, or longer. */
  isStalledSince(tick: number): boolean;
  /** Ends it without waiting for the peer. */
  cutOff(): void;
}

export interface StallWatchOptions {
  /** How long a stream's peer may take nothing of a message before the stream is ended. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly metrics: ProxyMetrics;
  readonly log: RateLimitedLog;
}

/** Ticks in one timeout: a stall is noticed at most an eighth late. */
const ticksPerTimeout = 8;
/** How many streams are looked at in one turn of the event loop. */
const streamsPerTurn = 1_000;

/**
 * Ends streams whose peer has not let a message through for too long. A write only notes the tick at which it began, a small integer:
 * no clock is read and no timer set, of which a broadcast would need ten thousand. A sweep each tick looks for those left behind.
 */
export class StallWatch implements Runnable {
  readonly name = "stall watch";
  readonly #options: StallWatchOptions;
  readonly #streams = new Set<Stallable>();
  #tick = 0;

  constructor(options: StallWatchOptions) {
    this.#options = options;
  }

  /** Counts up with time. A stream notes it when it begins to send something. */
  get tick(): number {
    return this.#tick;
  }

  add(stream: Stallable): void {
    this.#streams.add(stream);
  }

  delete(stream: Stallable): void {
    this.#streams.delete(stream);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    let cancel = (): void => undefined;
    const next = (): void => {
      cancel = clock.after(timeoutMs / ticksPerTimeout, () => {
        next();
        this.#tick++;
        this.#sweep(this.#streams.values());
      });
    };
    next();
    await aborted(signal);
    cancel();
  }

  #sweep(streams: Iterator<Stallable>): void {
    // One more than the timeout has: the tick at which the write began was under way already.
    const since = this.#tick - ticksPerTimeout - 1;
    for (let count = 0; count < streamsPerTurn; count++) {
      const next = streams.next();
      if (next.done === true) return;
      if (next.value.isStalledSince(since)) this.#end(next.value);
    }
    setImmediate(() => this.#sweep(streams));
  }

  #end(stream: Stallable): void {
    const { metrics, log, timeoutMs } = this.#options;
    metrics.stalled();
    log.warn("stalled", { stallTimeoutMs: timeoutMs }, "ended a stream whose peer does not read");
    stream.cutOff();
  }
}
