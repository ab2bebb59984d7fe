import { systemClock, type Clock } from "@bunting/runtime";
import type { Http2Session } from "./http2-session.js";

export interface KeepaliveOptions {
  /** How often each connection is asked for a sign of life. */
  readonly intervalMs: number;
  /** How long its peer may take to answer before the connection is dropped. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
}

/** Drops HTTP/2 connections whose peer no longer answers a PING: powered off, or behind a path that forgot them. */
export class SessionKeepalive {
  readonly #sessions: Iterable<Http2Session>;
  readonly #options: KeepaliveOptions;
  readonly #clock: Clock;
  #cancelNext: (() => void) | undefined;

  constructor(sessions: Iterable<Http2Session>, options: KeepaliveOptions) {
    this.#sessions = sessions;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  start(): void {
    this.#cancelNext = this.#clock.after(this.#options.intervalMs, () => {
      this.start();
      for (const session of this.#sessions) this.#probe(session);
    });
  }

  stop(): void {
    this.#cancelNext?.();
    this.#cancelNext = undefined;
  }

  #probe(session: Http2Session): void {
    const cancel = this.#clock.after(this.#options.timeoutMs, () => session.destroy());
    if (!session.probe(cancel)) cancel();
  }
}
