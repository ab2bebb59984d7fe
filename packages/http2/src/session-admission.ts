import { type Clock, Overdue } from "@bunting/runtime";
import { drainSessions } from "./drain-sessions.js";
import type { Http2Session } from "./http2-session.js";
import type { AccountBook, EvictionListener, OpenAccount } from "./account.js";
import type { RpcStatus } from "./status.js";
import type { TransportLimits, TransportSession, TransportStream } from "./transport.js";

/** Time for the trailers of the streams of a connection that is ended to free memory. */
const evictionGraceMs = 250;
/** Time in which a refused connection can make the request that is answered with the reason. */
const refusalGraceMs = 1_000;
/** Time in which a client that is told to open no more streams on an idle connection may close it. */
const idleGraceMs = 1_000;
/** Refused connections that are answered at the same time; further ones are closed without an answer. */
const maxRefused = 256;

const retryPushback = { "grpc-retry-pushback-ms": "5000" };
const evicted: RpcStatus = {
  code: "UNAVAILABLE",
  message:
    "the server ended this connection to free memory: it held more than others, or nothing but streams of events (see the server's --peer-memory)",
  trailers: retryPushback,
};
const refused: RpcStatus = {
  code: "UNAVAILABLE",
  message: "the server takes no new connections: its memory for peers (--peer-memory) is used up",
  trailers: retryPushback,
};

/** Why a subscriber is ended that has done nothing but read slowly. */
const unread =
  "its client has not taken yet what it was sent, such as flags of which there is a newer version by now, and --peer-memory has no room for it";

/**
 * Reason to refuse or end a connection. `memory`: the budget is used up, and it is new or was evicted. `settings`: its
 * peer did not acknowledge SETTINGS, without which the limits they announce are not in force. `idle`: it had no stream that
 * is served for too long.
 */
export type AdmissionReason = "memory" | "settings" | "idle";

/** With `detail`, a constant sentence that says more, and the peer's address. */
export type AdmissionListener = (reason: AdmissionReason, detail?: string, peer?: string) => void;

export interface AdmissionOptions extends Pick<
  TransportLimits,
  "settingsTimeoutMs" | "firstStreamTimeoutMs" | "idleTimeoutMs"
> {
  readonly memory: AccountBook;
  readonly clock: Clock;
  readonly onEnd: AdmissionListener;
}

/** Opens the accounts of connections, refuses new ones while memory is short, and ends those that must not stay. */
export class SessionAdmission {
  readonly #options: AdmissionOptions;
  readonly #unacknowledged: Overdue<TransportSession>;
  /** Those that have not had a stream that is served yet, and those that have none any more. */
  readonly #unused: Overdue<TransportSession>;
  readonly #idle: Overdue<TransportSession>;
  readonly #refused = new Set<TransportSession>();
  #count = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#unacknowledged = new Overdue(options.clock, options.settingsTimeoutMs, (session) => {
      if (session.isReadingPaused) {
        // The acknowledgement may have arrived.
        this.#unacknowledged.add(session);
        return;
      }
      options.onEnd("settings");
      session.destroy();
    });
    const endIdle = (session: TransportSession): void => this.#endIdle(session);
    this.#unused = new Overdue(options.clock, options.firstStreamTimeoutMs, endIdle);
    this.#idle = new Overdue(options.clock, options.idleTimeoutMs, endIdle);
  }

  /** False if a new connection is to be closed at once: memory is short, and enough others are being refused with a reason. */
  admits(address: string): boolean {
    return this.#refused.size < maxRefused || this.#options.memory.makeRoom(address);
  }

  /** The account for a new connection, which then has to `enter`, and which `evict` ends. That of a refused one counts for nothing: it is gone in a second. */
  openAccount(evict: EvictionListener, address: string): OpenAccount {
    const { memory } = this.#options;
    if (!memory.makeRoom(address)) return memory.openUncounted();
    return memory.open(evict, address);
  }

  enter(session: TransportSession, account: OpenAccount): void {
    if (this.#count++ === 0) for (const overdue of this.#all) overdue.start();
    this.#unacknowledged.add(session);
    this.#unused.add(session);
    if (!account.isCounted) this.#refuse(session);
  }

  /** Called when the peer has acknowledged our SETTINGS. */
  acknowledged(session: TransportSession): void {
    this.#unacknowledged.delete(session);
  }

  /** Called when the connection has closed. */
  leave(session: TransportSession): void {
    for (const overdue of this.#all) overdue.delete(session);
    this.#refused.delete(session);
    if (--this.#count === 0) for (const overdue of this.#all) overdue.stop();
  }

  /** Called when the connection has its first stream that is served, or has none any more. */
  served(session: TransportSession, isServed: boolean): void {
    this.#unused.delete(session);
    if (isServed) this.#idle.delete(session);
    else if (session.isOpen) this.#idle.add(session);
  }

  hasRefused(session: TransportSession): boolean {
    return this.#refused.has(session);
  }

  /** True if the stream belongs to a refused connection; it has been ended then. */
  refuses(stream: TransportStream): boolean {
    if (!this.#refused.has(stream.session)) return false;
    stream.session.goaway();
    stream.end(refused);
    return true;
  }

  get #all(): readonly Overdue<TransportSession>[] {
    return [this.#unacknowledged, this.#unused, this.#idle];
  }

  #endIdle(session: TransportSession): void {
    if (session.isReadingPaused) {
      // A request may have arrived.
      this.#idle.add(session);
      return;
    }
    const { clock, onEnd } = this.#options;
    onEnd("idle");
    // What the client sends before it has read this is for its next connection.
    session.goaway();
    const cancel = clock.after(idleGraceMs, () => session.destroy());
    session.onClose(cancel);
  }

  #refuse(session: TransportSession): void {
    const { clock, onEnd } = this.#options;
    onEnd("memory");
    this.#refused.add(session);
    const cancel = clock.after(refusalGraceMs, () => session.destroy());
    session.onClose(cancel);
  }

  /** Ends a connection to free memory. */
  evict(session: Http2Session, hasTime: boolean): void {
    const { clock, onEnd } = this.#options;
    onEnd("memory", session.open.hasUnread ? unread : undefined, session.remoteAddress);
    if (!hasTime || session.streams.length === 0) {
      // Too many others are being ended. Or there are no gRPC calls to end. Other requests must not be answered any more: their answers would count for nothing.
      session.destroy();
      return;
    }
    session.open.resetPlain();
    void drainSessions([session], {
      windowMs: 0,
      graceMs: evictionGraceMs,
      onStream: (stream) => stream.end(evicted),
      clock,
    });
  }
}
