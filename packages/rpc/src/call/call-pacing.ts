import type { Clock } from "@bunting/runtime";
import { parseGrpcTimeout } from "./grpc-timeout.js";
import { StartQueue, type Starter } from "./start-queue.js";
import type { RpcStatus } from "@bunting/http2/status";
import type { TransportHandler, TransportSession, TransportStream } from "@bunting/http2";

/** Calls of one connection that may have ended, and how many of them are forgotten each second. Real clients make two at a start. */
const endedBurst = 64;
const endedPerSecond = 2;
/** Calls that may begin within a second: thousands could begin before the first ends. */
const begunPerSecond = 64;
/** Calls beyond that, of all connections: one whose 5,000 streams end at once has them back in 4 s. */
const sharedBurst = 1_000;
const sharedPerSecond = 1_000;

const expired: RpcStatus = {
  code: "DEADLINE_EXCEEDED",
  message: "the deadline passed while the call waited: this connection makes many short calls",
};

export interface CallPacingOptions {
  /** Receives the streams, each when its turn comes. */
  readonly handler: TransportHandler;
  readonly clock: Clock;
  readonly onDelayed: (session: TransportSession) => void;
  /** Calls that began (1) or stopped (-1) waiting. */
  readonly onWaiting: (delta: 1 | -1) => void;
}

/**
 * Limits how many short calls are begun each second, so that connections that do nothing else do not take the processor from all others.
 *
 * Each connection has an allowance. While anything is left of it, calls begin at once, and each of them uses it when the call *ends*: streams
 * that stay open cost nothing, however many there are, but only so many begin within a second. Further calls take from what all connections
 * share, and use nothing of their own; if nothing is left there, they wait, connections in rotation. No call is refused for that: while one
 * waits, nothing is read from its connection.
 */
export class CallPacing implements TransportHandler {
  readonly #options: CallPacingOptions;
  readonly #paces = new Map<TransportSession, ConnectionPace>();
  readonly #queue: StartQueue;

  constructor(options: CallPacingOptions) {
    this.#options = options;
    const { clock, onWaiting } = options;
    this.#queue = new StartQueue({ perSecond: sharedPerSecond, burst: sharedBurst, clock, onWaiting });
  }

  onSession(session: TransportSession): void {
    this.#options.handler.onSession?.(session);
  }

  onSessionClosed(session: TransportSession): void {
    this.#paces.delete(session);
    this.#options.handler.onSessionClosed?.(session);
  }

  onStream(stream: TransportStream): void {
    const { handler, clock, onDelayed } = this.#options;
    const pace = this.#paceOf(stream.session);
    if (pace.begins()) {
      stream.onClose(pace);
      handler.onStream(stream);
      return;
    }
    const call = new WaitingCall(stream, clock, handler, pace);
    if (this.#queue.enter(call)) {
      handler.onStream(stream);
      return;
    }
    pace.enter(call);
    stream.onClose(() => {
      this.#queue.leave(call);
      pace.leave(call);
    });
    onDelayed(stream.session);
  }

  #paceOf(session: TransportSession): ConnectionPace {
    let pace = this.#paces.get(session);
    if (pace === undefined)
      this.#paces.set(session, (pace = new ConnectionPace(session, this.#options.clock)));
    return pace;
  }
}

/** The allowance of a connection, and its calls that wait. */
class ConnectionPace {
  readonly #session: TransportSession;
  readonly #clock: Clock;
  /** Below 0 if many calls had begun before the first ended. */
  #left = endedBurst;
  #begun = 0;
  #sinceMs: number;
  #waiting: Set<WaitingCall> | undefined;

  constructor(session: TransportSession, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
    // In whole milliseconds, which take no object.
    this.#sinceMs = Math.floor(clock.monotonicMs());
  }

  /** True if a call may begin by the allowance, and has begun. */
  begins(): boolean {
    // First in, first out.
    if (this.#waiting !== undefined) return false;
    // The clock is read only when it matters.
    if (this.#left < 1 || this.#begun === begunPerSecond) this.#count();
    if (this.#left < 1 || this.#begun === begunPerSecond) return false;
    this.#begun++;
    return true;
  }

  /** A call has ended. */
  onClosed(): void {
    this.#left--;
  }

  #count(): void {
    const nowMs = this.#clock.monotonicMs();
    const passedMs = nowMs - this.#sinceMs;
    if (passedMs < 1_000) return;
    this.#left = Math.min(endedBurst, this.#left + (passedMs * endedPerSecond) / 1_000);
    this.#begun = 0;
    this.#sinceMs = nowMs;
  }

  enter(call: WaitingCall): void {
    (this.#waiting ??= new Set()).add(call);
    this.#session.pauseReading();
  }

  /** Does nothing if the call does not wait. */
  leave(call: WaitingCall): void {
    if (this.#waiting?.delete(call) !== true || this.#waiting.size > 0) return;
    this.#waiting = undefined;
    this.#session.resumeReading();
  }
}

class WaitingCall implements Starter {
  readonly #stream: TransportStream;
  readonly #clock: Clock;
  readonly #handler: TransportHandler;
  readonly #pace: ConnectionPace;
  readonly #sinceMs: number;

  constructor(stream: TransportStream, clock: Clock, handler: TransportHandler, pace: ConnectionPace) {
    this.#stream = stream;
    this.#clock = clock;
    this.#handler = handler;
    this.#pace = pace;
    this.#sinceMs = clock.monotonicMs();
  }

  get connection(): TransportSession {
    return this.#stream.session;
  }

  start(): void {
    const stream = this.#stream;
    // The call may have ended with its connection.
    if (stream.isOpen && !stream.hasResponded) {
      if (this.#hasExpired) stream.end(expired);
      else this.#handler.onStream(stream);
    }
    this.#pace.leave(this);
  }

  get #hasExpired(): boolean {
    const timeoutMs = parseGrpcTimeout(this.#stream.header("grpc-timeout") ?? "");
    return timeoutMs !== undefined && this.#clock.monotonicMs() - this.#sinceMs >= timeoutMs;
  }
}
