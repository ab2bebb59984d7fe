import { onNextTurn } from "@bunting/runtime";
import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import { KubeError } from "../kube-error.js";
import { SessionWatchdog } from "./session-watchdog.js";
import type { SessionEnd, TransportContext } from "./transport-options.js";

/** What API servers allow by default, and no more than one broken connection should take down. */
const maxStreams = 100;

/** Room for one stream. */
export interface SessionSlot {
  readonly session: PooledSession;
  /** See `KubeRequest`: it may change while the stream is open. */
  readonly isGuess: () => boolean;
}

/**
 * One HTTP/2 session whose settings have arrived: node would also send requests before that, and those beyond the server's limit would
 * then hang without an error. A place is reserved before a stream is opened, and released when the stream is closed.
 */
export class PooledSession {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #watchdog: SessionWatchdog;
  readonly #places = new Set<SessionSlot>();
  #end: SessionEnd | undefined;
  /** Set by the pool. Called when a place is free. */
  onRoom: () => void = () => undefined;
  /** Set by the pool. Called when the session has closed. */
  onClose: (reason: SessionEnd) => void = () => undefined;

  constructor(session: ClientHttp2Session, socket: TLSSocket, context: TransportContext) {
    this.#session = session;
    this.#socket = socket;
    this.#watchdog = new SessionWatchdog(
      {
        session,
        bytesRead: () => socket.bytesRead,
        streams: () => this.#places.size,
        onIdle: () => this.destroy("idle"),
        onSilent: () => this.destroy("silent", lost(`${context.server} did not answer a PING`)),
      },
      context,
    );
  }

  start(): void {
    this.#session
      // Open streams continue until they end; node refuses new ones.
      .on("goaway", () => (this.#end ??= "goaway"))
      .on("error", () => (this.#end ??= "lost"));
    this.#socket.once("close", () => {
      this.#watchdog.stop();
      this.onClose(this.#end ?? "lost");
    });
    this.#watchdog.start();
  }

  get isUsable(): boolean {
    return this.#end === undefined && !this.#session.closed && !this.#session.destroyed;
  }

  get hasRoom(): boolean {
    const { maxConcurrentStreams = maxStreams } = this.#session.remoteSettings;
    return this.isUsable && this.#places.size < Math.min(maxConcurrentStreams, maxStreams);
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  /** True if it carries only guesses, or only others, or nothing yet: a stream of that kind delays none of the other kind. */
  carriesOnly(guesses: boolean): boolean {
    for (const { isGuess } of this.#places) if (isGuess() !== guesses) return false;
    return true;
  }

  reserve(isGuess: () => boolean = never): SessionSlot {
    const place: SessionSlot = { session: this, isGuess };
    this.#places.add(place);
    return place;
  }

  #release(place: SessionSlot): void {
    this.#places.delete(place);
    this.onRoom();
  }

  /** Opens a stream on a reserved place; undefined if the session turned out to be closing. */
  open(place: SessionSlot, headers: OutgoingHttpHeaders, isBodyless: boolean): ClientHttp2Stream | undefined {
    // After a GOAWAY, Node 24 returns a stream that fails; Node 20 throws.
    if (!this.isUsable) {
      this.#giveBack(place);
      return undefined;
    }
    try {
      const stream = this.#session.request(headers, { endStream: isBodyless });
      stream.once("close", () => this.#release(place));
      return stream;
    } catch {
      // It throws at once when a GOAWAY has come or the socket is gone.
      this.#giveBack(place);
      return undefined;
    }
  }

  #giveBack(place: SessionSlot): void {
    this.#end ??= "goaway";
    this.#release(place);
  }

  /** An answer is overdue: checks by PING whether the server is still there. */
  probe(): void {
    this.#watchdog.probe();
  }

  /**
   * Ends the session and its streams, which fail with this error. Node would keep the socket until the peer has read everything and
   * closed; a peer that is gone never does.
   */
  destroy(reason: SessionEnd, error?: KubeError): void {
    this.#end ??= reason;
    this.#session.destroy(error, constants.NGHTTP2_NO_ERROR);
    onNextTurn(() => this.#socket.destroy());
  }
}

function never(): boolean {
  return false;
}

function lost(message: string): KubeError {
  return new KubeError("CONNECTION_LOST", message);
}
