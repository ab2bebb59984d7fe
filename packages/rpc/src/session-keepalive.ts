import { systemClock, type Clock } from "@bunting/runtime";
import type { Http2Session } from "./http2-session.js";

export interface KeepaliveOptions {
  /** After how long without a byte from the peer a PING is sent. */
  readonly intervalMs: number;
  /** How long its peer may take to answer before the connection is dropped. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
}

/** How many connections are checked in one turn of the event loop. */
const sessionsPerTurn = 1_000;

/**
 * Drops HTTP/2 connections whose peer vanished without closing: it was powered off, or the network between forgot the connection. There
 * may be tens of thousands, so none has a timer of its own: a sweep compares the bytes received from each peer with those at the previous
 * sweep. Only a silent peer gets a PING, and the answer counts like any other bytes.
 */
export class SessionKeepalive {
  readonly #sessions: Iterable<Http2Session>;
  readonly #clock: Clock;
  readonly #onSilent: () => void;
  readonly #stepMs: number;
  /** After how many sweeps without a byte a PING is sent, and the connection dropped. */
  readonly #probeAfter: number;
  readonly #dropAfter: number;
  #cancelNext: (() => void) | undefined;

  /** @param onSilent called for each connection that is dropped. */
  constructor(sessions: Iterable<Http2Session>, options: KeepaliveOptions, onSilent: () => void) {
    const { intervalMs, timeoutMs, clock = systemClock } = options;
    this.#sessions = sessions;
    this.#clock = clock;
    this.#onSilent = onSilent;
    this.#stepMs = Math.min(intervalMs, timeoutMs) / 2;
    this.#probeAfter = Math.ceil(intervalMs / this.#stepMs);
    this.#dropAfter = this.#probeAfter + Math.ceil(timeoutMs / this.#stepMs);
  }

  start(): void {
    this.#cancelNext = this.#clock.after(this.#stepMs, () => {
      this.start();
      this.#sweep(this.#sessions[Symbol.iterator]());
    });
  }

  stop(): void {
    this.#cancelNext?.();
    this.#cancelNext = undefined;
  }

  #sweep(sessions: Iterator<Http2Session>): void {
    for (let count = 0; count < sessionsPerTurn; count++) {
      const next = sessions.next();
      if (next.done === true) return;
      this.#look(next.value);
    }
    setImmediate(() => this.#sweep(sessions));
  }

  #look(session: Http2Session): void {
    const quietSweeps = session.countQuietSweep();
    if (quietSweeps === this.#probeAfter) session.probe();
    if (quietSweeps < this.#dropAfter) return;
    this.#onSilent();
    session.destroy();
  }
}
