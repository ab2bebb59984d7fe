import { onNextTurn } from "@bunting/runtime";
import type { ClientHttp2Session } from "node:http2";
import type { TransportContext } from "./transport-options.js";

export interface Watched {
  readonly session: ClientHttp2Session;
  /** All bytes received from the server so far. */
  readonly bytesRead: () => number;
  readonly streams: () => number;
  /** Called once: the server did not answer a PING. */
  readonly onSilent: () => void;
  /** Called once: the session has had no stream for `idleMs`. */
  readonly onIdle: () => void;
}

/**
 * Finds dead connections. A connection that a firewall dropped, or whose machine is gone, looks open for hours; so a session with streams
 * that has received nothing for a while sends a PING. Node's ping() waits for its answer for ever, hence a timer of our own; anything
 * that arrives will do as an answer. One timer checks everything from time to time: nothing is done per stream or chunk.
 */
export class SessionWatchdog {
  readonly #watched: Watched;
  readonly #context: TransportContext;
  #bytesRead = 0;
  #lastByteAtMs: number;
  #lastStreamAtMs: number;
  #stopTimer: () => void = () => undefined;
  #stopPing: (() => void) | undefined;
  #isStopped = false;

  constructor(watched: Watched, context: TransportContext) {
    this.#watched = watched;
    this.#context = context;
    this.#lastByteAtMs = this.#lastStreamAtMs = context.clock.monotonicMs();
  }

  start(): void {
    const { silenceMs, idleMs } = this.#context.timing;
    this.#stopTimer = this.#context.clock.after(Math.min(silenceMs, idleMs) / 3, () => {
      this.#look();
      if (!this.#isStopped) this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
    this.#stopPing?.();
  }

  /** Sends a PING now; to be called when an answer is overdue. */
  probe(): void {
    if (this.#isStopped || this.#stopPing !== undefined || this.#watched.session.destroyed) return;
    const bytesBefore = this.#watched.bytesRead();
    this.#stopPing = this.#context.clock.after(this.#context.timing.pingTimeoutMs, () => {
      // This process may have been busy, or stopped, for all of this time: what has come meanwhile is read before immediates run.
      this.#stopPing = onNextTurn(() => {
        this.#stopPing = undefined;
        if (this.#watched.bytesRead() !== bytesBefore) return;
        this.stop();
        this.#watched.onSilent();
      });
    });
    this.#watched.session.ping((error) => {
      // An error here means that the session has ended, which is reported elsewhere.
      if (error !== null) return;
      this.#stopPing?.();
      this.#stopPing = undefined;
    });
  }

  #look(): void {
    const nowMs = this.#context.clock.monotonicMs();
    const { silenceMs, idleMs } = this.#context.timing;
    const bytesRead = this.#watched.bytesRead();
    if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead;
      this.#lastByteAtMs = nowMs;
    }
    if (this.#watched.streams() > 0) {
      this.#lastStreamAtMs = nowMs;
      if (nowMs - this.#lastByteAtMs >= silenceMs) this.probe();
    } else if (nowMs - this.#lastStreamAtMs >= idleMs) {
      this.stop();
      this.#watched.onIdle();
    }
  }
}
