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

/** Beyond what any API server allows (100), and what is wise to lose at once with one connection. */
const maxStreams = 100;

/**
 * One HTTP/2 session whose settings have arrived: node would send requests before that too, and those beyond the server's limit then
 * wait for ever without an error. A place is reserved before a stream is opened, and given back when the stream is closed.
 */
export class PooledSession {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #watchdog: SessionWatchdog;
  #places = 0;
  #end: SessionEnd | undefined;
  /** Set by the pool: a place is free, or the session is over. */
  onRoom: () => void = () => undefined;
  onClose: (reason: SessionEnd) => void = () => undefined;

  constructor(session: ClientHttp2Session, socket: TLSSocket, context: TransportContext) {
    this.#session = session;
    this.#socket = socket;
    this.#watchdog = new SessionWatchdog(
      {
        session,
        bytesRead: () => socket.bytesRead,
        streams: () => this.#places,
        onIdle: () => this.destroy("idle"),
        onSilent: () => this.destroy("silent", lost(`${context.server} fell silent: no answer to a PING`)),
      },
      context,
    );
  }

  start(): void {
    this.#session
      // Open streams go on until they end; node refuses new ones.
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
    return this.isUsable && this.#places < Math.min(maxConcurrentStreams, maxStreams);
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  reserve(): void {
    this.#places++;
  }

  /** Gives back a place nothing was opened on. */
  release(): void {
    this.#places--;
    this.onRoom();
  }

  /** Opens a stream on a reserved place; undefined if the session turned out to be closing. */
  open(headers: OutgoingHttpHeaders, isBodyless: boolean): ClientHttp2Stream | undefined {
    try {
      const stream = this.#session.request(headers, { endStream: isBodyless });
      stream.once("close", () => this.release());
      return stream;
    } catch {
      // It throws at once when a GOAWAY has come or the socket is gone.
      this.#end ??= "goaway";
      this.release();
      return undefined;
    }
  }

  /** An answer is overdue: is anybody there? */
  probe(): void {
    this.#watchdog.probe();
  }

  /**
   * Ends it and its streams, which fail with this error. node would keep the socket until the other side has taken everything and hung
   * up; one that is gone never does.
   */
  destroy(reason: SessionEnd, error?: KubeError): void {
    this.#end ??= reason;
    this.#session.destroy(error, constants.NGHTTP2_NO_ERROR);
    setImmediate(() => this.#socket.destroy());
  }
}

function lost(message: string): KubeError {
  return new KubeError("CONNECTION_LOST", message);
}
