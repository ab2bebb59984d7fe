import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { addCloseListener, callCloseListeners, type CloseListeners } from "./close-listeners.js";
import { FloodGuard } from "./flood-guard.js";
import { Http2Stream, type StreamOwner } from "./http2-stream.js";
import { peerAddress } from "./peer-address.js";
import { RpcError } from "./status.js";
import type { TransportStream } from "./transport.js";

/** What a stream may have in flight before the peer said anything (RFC 9113 6.9.2). */
const protocolWindowBytes = 65_535;

/** One client connection on node:http2. */
export class Http2Session implements StreamOwner {
  readonly remoteAddress: string;
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #streams = new Set<TransportStream>();
  #isOpen = true;
  #isGoingAway = false;
  #closeListeners: CloseListeners;
  #floodGuard: FloodGuard | undefined;
  /** Kept, because it is asked for at each write; undefined when SETTINGS came since. */
  #peerWindowBytes: number | undefined;
  #heardBytes = -1;
  #quietSweeps = 0;
  #onPingAck: ((error?: Error) => void) | undefined;

  /** `socket` is the one below `session`: node gives only a proxy of it, which refuses `destroy`. */
  constructor(session: ServerHttp2Session, socket: Socket) {
    this.#session = session;
    this.#socket = socket;
    this.remoteAddress = peerAddress(socket);
  }

  get streams(): ReadonlySet<TransportStream> {
    return this.#streams;
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#session.destroyed;
  }

  get peerWindowBytes(): number {
    return (this.#peerWindowBytes ??= this.#session.remoteSettings.initialWindowSize ?? protocolWindowBytes);
  }

  goaway(): void {
    if (this.#isGoingAway || !this.isOpen) return;
    this.#isGoingAway = true;
    // `close` is GOAWAY and more: it also ends the connection, gently, once no stream is left. With streams open it would
    // fail every ping from now on, so it has to wait for the last of them.
    if (this.#streams.size === 0) this.#session.close();
    else this.#session.goaway();
  }

  ping(onAck: (error?: Error) => void): boolean {
    if (this.#onPingAck !== undefined || !this.isOpen || this.#session.closed) return false;
    this.#onPingAck = onAck;
    const isSent = this.#session.ping((error) => this.#settlePing(error ?? undefined));
    if (!isSent) this.#onPingAck = undefined;
    return isSent;
  }

  destroy(): void {
    this.#session.destroy();
    // Node would first wait for the socket to take what is left, which a peer that stopped reading never lets it.
    this.#socket.destroy();
  }

  onClose(listener: () => void): void {
    if (this.#isOpen) this.#closeListeners = addCloseListener(this.#closeListeners, listener);
    else listener();
  }

  /** Called by the keepalive only, once a sweep: for how many sweeps now nothing has come from the peer. */
  countQuietSweep(): number {
    const { bytesRead } = this.#socket;
    this.#quietSweeps = bytesRead === this.#heardBytes ? this.#quietSweeps + 1 : 0;
    this.#heardBytes = bytesRead;
    return this.#quietSweeps;
  }

  /** Called by the keepalive only: sends a PING beside those of `ping`, unless the session is on its way out. */
  probe(): void {
    if (this.isOpen && !this.#session.closed) this.#session.ping(ignore);
  }

  /** Called by the transport only, for each PING or SETTINGS frame; true if they are a flood, and the session has been ended for it. */
  countControlFrame(): boolean {
    this.#peerWindowBytes = undefined;
    const nowMs = performance.now();
    this.#floodGuard ??= new FloodGuard(nowMs);
    if (!this.isOpen || !this.#floodGuard.isFlood(this.#socket.bytesWritten, nowMs)) return false;
    this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // A turn later, so that the GOAWAY leaves, which `destroy` writes.
    setImmediate(() => this.#socket.destroy());
    return true;
  }

  /** Called by the transport only. */
  addStream(node: ServerHttp2Stream, headers: IncomingHttpHeaders): Http2Stream {
    const stream = new Http2Stream(this, node, headers);
    this.#streams.add(stream);
    return stream;
  }

  removeStream(stream: TransportStream): void {
    this.#streams.delete(stream);
    if (this.#isGoingAway && this.#streams.size === 0 && this.isOpen) this.#session.close();
  }

  /** Called by the transport only, when the connection is gone. */
  handleClose(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#onPingAck !== undefined)
      this.#settlePing(new RpcError("UNAVAILABLE", "the connection ended before the ping was answered"));
    const listeners = this.#closeListeners;
    this.#closeListeners = undefined;
    callCloseListeners(listeners);
  }

  #settlePing(error: Error | undefined): void {
    const onAck = this.#onPingAck;
    this.#onPingAck = undefined;
    onAck?.(error);
  }
}

function ignore(): void {
  // The answer shows in the bytes that come.
}
