import { type Clock, Overdue } from "@bunting/runtime";
import { drainSessions } from "./drain-sessions.js";
import type { Http2Session } from "./http2-session.js";
import type { AccountBook, OpenAccount } from "./account.js";
import type { RpcStatus } from "./status.js";
import type { TransportSession, TransportStream } from "./transport.js";

/** Time for the trailers of the streams of a connection that is ended to free memory. */
const evictionGraceMs = 250;
/** Time in which a refused connection can make the request that is answered with the reason. */
const refusalGraceMs = 1_000;
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

/**
 * Reason to refuse or end a connection. `memory`: the budget is used up, and it is new or was evicted. `settings`: its
 * peer did not acknowledge SETTINGS, without which the limits they announce are not in force.
 */
export type AdmissionReason = "memory" | "settings";

export interface AdmissionOptions {
  readonly memory: AccountBook;
  readonly clock: Clock;
  /** See TransportLimits. */
  readonly settingsTimeoutMs: number;
  readonly onEnd: (reason: AdmissionReason) => void;
}

/** Opens the accounts of connections, refuses new ones while memory is short, and ends those that must not stay. */
export class SessionAdmission {
  readonly #options: AdmissionOptions;
  readonly #unacknowledged: Overdue<TransportSession>;
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
  }

  /** False if a new connection is to be closed at once: memory is short, and enough others are being refused with a reason. */
  admits(): boolean {
    return this.#refused.size < maxRefused || this.#options.memory.makeRoom();
  }

  /** The account for a new connection, which then has to `enter`. That of a refused one counts for nothing: it is gone in a second. */
  openAccount(session: () => Http2Session, address: string): OpenAccount {
    const { memory } = this.#options;
    if (!memory.makeRoom()) return memory.openUncounted();
    return memory.open((hasTime) => this.#evict(session(), hasTime), address);
  }

  enter(session: TransportSession, account: OpenAccount): void {
    if (this.#count++ === 0) this.#unacknowledged.start();
    this.#unacknowledged.add(session);
    if (!account.isCounted) this.#refuse(session);
  }

  /** Called when the peer has acknowledged our SETTINGS. */
  acknowledged(session: TransportSession): void {
    this.#unacknowledged.delete(session);
  }

  /** Called when the connection has closed. */
  leave(session: TransportSession): void {
    this.#unacknowledged.delete(session);
    this.#refused.delete(session);
    if (--this.#count === 0) this.#unacknowledged.stop();
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

  #refuse(session: TransportSession): void {
    const { clock, onEnd } = this.#options;
    onEnd("memory");
    this.#refused.add(session);
    const cancel = clock.after(refusalGraceMs, () => session.destroy());
    session.onClose(cancel);
  }

  #evict(session: Http2Session, hasTime: boolean): void {
    const { clock, onEnd } = this.#options;
    onEnd("memory");
    if (!hasTime || session.streams.size === 0) {
      // Too many others are being ended. Or there are no gRPC calls to end. Other requests must not be answered any more: their answers would count for nothing.
      session.destroy();
      return;
    }
    session.resetPlain();
    void drainSessions([session], {
      windowMs: 0,
      graceMs: evictionGraceMs,
      onStream: (stream) => stream.end(evicted),
      clock,
    });
  }
}
