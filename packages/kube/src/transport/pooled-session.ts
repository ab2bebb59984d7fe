import { onNextTurn } from "@bunting/runtime";
import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import { KubeError } from "../kube-error.js";
import type { WatchPriority } from "../watch-priority.js";
import { SessionWatchdog } from "./session-watchdog.js";
import type { TransportContext } from "./transport-options.js";

/** The default limit of API servers, and as many watches as one broken connection should take down. */
const maxStreams = 100;

/** Room for one stream. */
export interface SessionSlot {
  readonly session: PooledSession;
  /** Priority of the stream, as in `KubeRequest`; it may change while the stream is open. */
  readonly priority: () => WatchPriority;
}

/**
 * One HTTP/2 session whose settings have arrived. Node would also send requests before that, and requests beyond
 * the server's limit would then hang without an error. A slot is reserved before a stream is opened, and released
 * when the stream has closed.
 */
export class PooledSession {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #watchdog: SessionWatchdog;
  readonly #slots = new Set<SessionSlot>();
  #isEnding = false;
  /** Set by the pool. Called when a slot is free. */
  onRoom: () => void = () => undefined;
  /** Set by the pool. Called when the session has closed. */
  onClose: () => void = () => undefined;

  constructor(session: ClientHttp2Session, socket: TLSSocket, context: TransportContext) {
    this.#session = session;
    this.#socket = socket;
    this.#watchdog = new SessionWatchdog(
      {
        session,
        bytesRead: () => socket.bytesRead,
        streams: () => this.#slots.size,
        onIdle: () => this.destroy(),
        onSilent: () => this.destroy(lost(`${context.server} did not answer a PING`)),
      },
      context,
    );
  }

  start(): void {
    this.#session
      // Open streams continue until they end; node refuses new ones.
      .on("goaway", () => (this.#isEnding = true))
      .on("error", () => (this.#isEnding = true));
    this.#socket.once("close", () => {
      this.#watchdog.stop();
      this.onClose();
    });
    this.#watchdog.start();
  }

  get isUsable(): boolean {
    return !this.#isEnding && !this.#session.closed && !this.#session.destroyed;
  }

  get hasRoom(): boolean {
    const { maxConcurrentStreams = maxStreams } = this.#session.remoteSettings;
    return this.isUsable && this.#slots.size < Math.min(maxConcurrentStreams, maxStreams);
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  /** True if no stream of the other priority is open or reserved: a stream of this priority would delay none. */
  carriesOnly(priority: WatchPriority): boolean {
    for (const slot of this.#slots) if (slot.priority() !== priority) return false;
    return true;
  }

  reserve(priority: () => WatchPriority = normal): SessionSlot {
    const slot: SessionSlot = { session: this, priority };
    this.#slots.add(slot);
    return slot;
  }

  #release(slot: SessionSlot): void {
    this.#slots.delete(slot);
    this.onRoom();
  }

  /** Opens a stream on a reserved slot; undefined if the session turned out to be closing. */
  open(slot: SessionSlot, headers: OutgoingHttpHeaders, isBodyless: boolean): ClientHttp2Stream | undefined {
    // After a GOAWAY, Node 24 returns a stream that fails; Node 20 throws.
    if (!this.isUsable) {
      this.#giveBack(slot);
      return undefined;
    }
    try {
      const stream = this.#session.request(headers, { endStream: isBodyless });
      stream.once("close", () => this.#release(slot));
      return stream;
    } catch {
      // It throws at once when a GOAWAY has come or the socket is gone.
      this.#giveBack(slot);
      return undefined;
    }
  }

  #giveBack(slot: SessionSlot): void {
    this.#isEnding = true;
    this.#release(slot);
  }

  /** Checks by PING whether the server is still there; called when an answer is overdue. */
  probe(): void {
    this.#watchdog.probe();
  }

  /**
   * Ends the session and its streams, which fail with this error. Node would keep the socket until the peer has read everything and
   * closed; a peer that is gone never does.
   */
  destroy(error?: KubeError): void {
    this.#isEnding = true;
    this.#session.destroy(error, constants.NGHTTP2_NO_ERROR);
    onNextTurn(() => this.#socket.destroy());
  }
}

function normal(): WatchPriority {
  return "normal";
}

function lost(message: string): KubeError {
  return new KubeError("CONNECTION_LOST", message);
}
