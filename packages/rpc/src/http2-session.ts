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
import { streamBytes, type OpenAccount } from "./peer-memory.js";
import { RpcError } from "./status.js";
import type { TransportStream } from "./transport.js";

/** The initial stream window until the peer announces another (RFC 9113 6.9.2). */
const protocolWindowBytes = 65_535;

/** One client connection on node:http2. */
export class Http2Session implements StreamOwner {
  readonly remoteAddress: string;
  readonly account: OpenAccount;
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #streams = new Set<TransportStream>();
  #isOpen = true;
  #isGoingAway = false;
  #closeListeners: CloseListeners;
  #floodGuard: FloodGuard | undefined;
  /** Cached, because every write reads it; undefined after new SETTINGS. */
  #peerWindowBytes: number | undefined;
  #heardBytes = -1;
  #quietSweeps = 0;
  #onPingAck: ((error?: Error) => void) | undefined;

  /** @param socket the one below `session`; `session.socket` is only a proxy, on which `destroy` throws. */
  constructor(session: ServerHttp2Session, socket: Socket, account: OpenAccount) {
    this.#session = session;
    this.#socket = socket;
    this.account = account;
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
    // `close` sends GOAWAY and also ends the connection gracefully once no stream is left. While streams are open it would make every
    // later ping fail, so it has to wait until the last stream has ended.
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
    // Node alone would wait until the socket has sent what is left, which never happens if the peer has stopped reading.
    this.#socket.destroy();
  }

  onClose(listener: () => void): void {
    if (this.#isOpen) this.#closeListeners = addCloseListener(this.#closeListeners, listener);
    else listener();
  }

  /** Called by the keepalive only, once per sweep; returns for how many sweeps in a row the peer has sent nothing. */
  countQuietSweep(): number {
    const { bytesRead } = this.#socket;
    this.#quietSweeps = bytesRead === this.#heardBytes ? this.#quietSweeps + 1 : 0;
    this.#heardBytes = bytesRead;
    return this.#quietSweeps;
  }

  /** Called by the keepalive only: sends a PING in addition to those of `ping`, unless the session is closing. */
  probe(): void {
    if (this.isOpen && !this.#session.closed) this.#session.ping(ignore);
  }

  /** Called by the transport only, for each PING or SETTINGS frame; true if they are a flood, for which it has ended the session. */
  countControlFrame(): boolean {
    this.#peerWindowBytes = undefined;
    const nowMs = performance.now();
    this.#floodGuard ??= new FloodGuard(nowMs);
    if (!this.isOpen || !this.#floodGuard.isFlood(this.#socket.bytesWritten, nowMs)) return false;
    this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // A turn later, so that the GOAWAY which `destroy` writes is sent.
    setImmediate(() => this.#socket.destroy());
    return true;
  }

  /** Called by the transport only. */
  addStream(node: ServerHttp2Stream, headers: IncomingHttpHeaders, headerBytes: number): Http2Stream {
    const stream = new Http2Stream(this, node, headers, headerBytes);
    this.account.charge(streamBytes + headerBytes);
    this.#streams.add(stream);
    return stream;
  }

  removeStream(stream: Http2Stream): void {
    this.#streams.delete(stream);
    this.account.release(streamBytes + stream.headerBytes);
    if (this.#isGoingAway && this.#streams.size === 0 && this.isOpen) this.#session.close();
  }

  /** Called by the transport only, when the connection has closed. */
  handleClose(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.account.close();
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
  // The keepalive sees the answer in the bytes that arrive.
}
