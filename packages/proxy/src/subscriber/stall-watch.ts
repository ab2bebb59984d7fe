import { aborted, type Clock, type Runnable } from "@bunting/runtime";
import type { RateLimitedLog } from "../rate-limited-log.js";
import type { ProxyMetrics } from "../proxy-metrics.js";

/** A stream whose peer may stop reading. */
export interface Stallable {
  /** True if its current write began at this tick or before. */
  isStalledSince(tick: number): boolean;
  /** Ends it without waiting for the peer. */
  cutOff(): void;
}

export interface StallWatchOptions {
  /** A stream is ended when its peer has not taken a message for this long, in ms. */
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
 * Ends streams whose peer has not taken a message for too long. A write only records the tick at which it began, a small integer: it reads
 * no clock and sets no timer, of which a broadcast would need ten thousand. A sweep at each tick looks for writes that began too long ago.
 */
export class StallWatch implements Runnable {
  readonly name = "stall watch";
  readonly #options: StallWatchOptions;
  readonly #streams = new Set<Stallable>();
  #tick = 0;

  constructor(options: StallWatchOptions) {
    this.#options = options;
  }

  /** Counts up with time. A stream records it when it begins a write. */
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
    // One tick more than the timeout: the one in which the write began was not complete.
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
