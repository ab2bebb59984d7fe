import { forEachInSlices, Sweep, systemClock, type Clock } from "@bunting/runtime";
import type { Http2Session } from "./http2-session.js";

export interface KeepaliveOptions {
  /** After how long without a byte from the peer a PING is sent; 0: never. */
  readonly intervalMs: number;
  /** Time for the answer of the peer before the connection is dropped. */
  readonly timeoutMs: number;
  /** Time for the headers of a request; up to twice as long. Default 10 s. */
  readonly headersTimeoutMs?: number;
  readonly clock?: Clock;
}

/** The longest time between two sweeps. */
const maxStepMs = 2_000;
/** Reason why the keepalive drops a connection. */
export type KeepaliveReason = "silent" | "unfinished_headers";

/**
 * Drops HTTP/2 connections that are of no use any more: those whose peer vanished without closing, because it was powered off or the network
 * between forgot the connection, and those in the middle of a header block that does not end. There may be tens of thousands, so none has a
 * timer of its own: a sweep compares the bytes received from each peer with those at the previous sweep. Only a silent peer gets a PING, and
 * the answer counts like any other bytes.
 */
export class SessionKeepalive {
  readonly #sessions: Iterable<Http2Session>;
  readonly #onDrop: (reason: KeepaliveReason) => void;
  /** After how many sweeps without a byte a PING is sent, and the connection dropped. */
  readonly #probeAfter: number;
  readonly #dropAfter: number;
  readonly #dropHeadersAfter: number;
  readonly #sweep: Sweep;

  /** @param onDrop called for each connection that is dropped. */
  constructor(
    sessions: Iterable<Http2Session>,
    options: KeepaliveOptions,
    onDrop: (reason: KeepaliveReason) => void,
  ) {
    const { intervalMs, timeoutMs, headersTimeoutMs = 10_000, clock = systemClock } = options;
    this.#sessions = sessions;
    this.#onDrop = onDrop;
    const silenceMs = intervalMs === 0 ? Number.POSITIVE_INFINITY : intervalMs;
    const stepMs = Math.min(silenceMs / 2, timeoutMs / 2, maxStepMs);
    this.#probeAfter = Math.ceil(silenceMs / stepMs);
    this.#dropAfter = this.#probeAfter + Math.ceil(timeoutMs / stepMs);
    this.#dropHeadersAfter = 1 + Math.ceil(headersTimeoutMs / stepMs);
    this.#sweep = new Sweep(clock, stepMs, () => {
      void forEachInSlices(this.#sessions, (session) => this.#look(session));
    });
  }

  start(): void {
    this.#sweep.start();
  }

  stop(): void {
    this.#sweep.stop();
  }

  #look(session: Http2Session): void {
    const quietSweeps = session.countQuietSweep();
    if (quietSweeps === this.#probeAfter) session.probe();
    if (quietSweeps >= this.#dropAfter) this.#drop(session, "silent");
    else if (session.countHeaderSweep() > this.#dropHeadersAfter) this.#drop(session, "unfinished_headers");
  }

  #drop(session: Http2Session, reason: KeepaliveReason): void {
    this.#onDrop(reason);
    session.destroy();
  }
}
