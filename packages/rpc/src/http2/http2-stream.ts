import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { closeLeftOpen } from "./close-left-open.js";
import { addCloseListener, callCloseListeners, type CloseListeners } from "./close-listeners.js";
import { statusHeaders } from "./status-headers.js";
import { RpcError, type RpcStatus } from "../status.js";
import type { WatchedStream } from "../limits/stall-watch.js";
import type { GrpcHeaderRules, ResetCode, TransportSession, TransportStream } from "../transport.js";

type Headers = Readonly<Record<string, string>>;

const withTrailers = { waitForTrailers: true, sendDate: false };
const withoutBody = { endStream: true, sendDate: false };

/** Our stream window. */
const windowBytes = 65_535;

const wrapper = Symbol("the Http2Stream around a node stream");
type Wrapped = ServerHttp2Stream & { [wrapper]: Http2Stream };

/** The connection a stream belongs to. */
export interface StreamOwner extends TransportSession {
  /** Counts up with time, for the stall watch. */
  readonly stallClock: { readonly tick: number };
  readonly grpcHeaders: GrpcHeaderRules;
  /** Called once, when the stream has closed. */
  removeStream(stream: Http2Stream, node: ServerHttp2Stream): void;
}

/**
 * A gRPC request stream on node:http2. There may be a hundred thousand of these, and a broadcast writes to each. Therefore all streams
 * share the listeners of node's events, a write allocates nothing here, and an idle stream holds only what it needs.
 *
 * Node reports the result of a write late or, on a connection whose peer has stopped reading, never. Therefore the write callbacks that
 * are pending when the stream closes are called then, with an error, and what node reports afterwards is ignored.
 */
export class Http2Stream implements TransportStream, WatchedStream {
  readonly session: StreamOwner;
  /** Size of the request's headers, which are kept as long as the stream. */
  readonly headerBytes: number;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  #isOpen = true;
  #hasResponded = false;
  #trailers: Headers | undefined;
  #onRequestEnd: (() => void) | undefined;
  #closeListeners: CloseListeners;
  /** The oldest pending write callback, and the later ones: fan-out keeps one frame in flight, so there is rarely a second. */
  #onWritten: ((error?: Error) => void) | undefined;
  #laterOnWritten: ((error?: Error) => void)[] | undefined;
  #nodeOnWritten: ((error?: Error | null) => void) | undefined;
  /** The tick since which the peer has taken nothing of what it is owed; -1 if it is owed nothing. */
  #owedSince = -1;
  /** What `write` has charged to the peer and the peer has not taken. */
  #chargedBytes = 0;

  constructor(
    session: StreamOwner,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    headerBytes: number,
  ) {
    this.session = session;
    this.headerBytes = headerBytes;
    this.#stream = stream;
    this.#headers = headers;
    (stream as Wrapped)[wrapper] = this;
    stream.on("error", ignore);
    stream.on("close", Http2Stream.#onClose);
  }

  get path(): string {
    return this.#headers[":path"] ?? "";
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#stream.closed && !this.#stream.destroyed;
  }

  get hasResponded(): boolean {
    return this.#hasResponded;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  respond(headers?: Headers): void {
    if (this.#hasResponded || !this.isOpen) return;
    this.#hasResponded = true;
    this.#stream.on("wantTrailers", Http2Stream.#onWantTrailers);
    this.#stream.respond(this.#responseHeaders(headers), withTrailers);
  }

  write(frame: Uint8Array, onWritten?: (error?: Error) => void): void {
    if (this.#trailers === undefined && this.isOpen) {
      this.#chargedBytes += frame.length;
      this.session.account.charge(frame.length);
    }
    this.writeShared(frame, onWritten);
  }

  writeShared(frame: Uint8Array, onWritten?: (error?: Error) => void): void {
    if (this.#trailers !== undefined || !this.isOpen) {
      if (onWritten !== undefined) process.nextTick(onWritten, streamEnded());
      return;
    }
    if (!this.#hasResponded) this.respond();
    this.#owe();
    if (onWritten === undefined) {
      this.#stream.write(frame);
      return;
    }
    if (this.#onWritten === undefined) this.#onWritten = onWritten;
    else (this.#laterOnWritten ??= []).push(onWritten);
    this.#nodeOnWritten ??= (error) => this.#settleWrite(error ?? undefined);
    this.#stream.write(frame, this.#nodeOnWritten);
  }

  end(status: RpcStatus): void {
    if (this.#trailers !== undefined || !this.isOpen) return;
    this.#trailers = statusHeaders(status);
    this.#owe();
    this.resumeReading();
    if (this.#hasResponded) {
      this.#stream.end();
      return;
    }
    this.#hasResponded = true;
    this.#stream.respond(this.#responseHeaders(this.#trailers), withoutBody);
    if (!this.#stream.readableEnded) setImmediate(closeLeftOpen, this.#stream);
  }

  reset(code: ResetCode): void {
    if (!this.#isOpen || this.#stream.destroyed) return;
    this.#stream.close(constants[`NGHTTP2_${code}`]);
    // `close` alone is not enough: while the peer's TCP window is shut the RST_STREAM is never sent, and node would keep stream and frames.
    this.#stream.destroy();
  }

  receive(onData: (chunk: Buffer) => void, onEnd: () => void): void {
    this.#onRequestEnd = onEnd;
    this.#stream.on("data", onData);
    this.#stream.on("end", Http2Stream.#onEnd);
  }

  get isReadingPaused(): boolean {
    return this.#stream.isPaused();
  }

  pauseReading(): void {
    if (this.#trailers !== undefined || !this.isOpen || this.#stream.isPaused()) return;
    this.#stream.pause();
    this.session.account.charge(unreadBytes(this.#stream));
    this.#stream.once("aborted", Http2Stream.#onAborted);
  }

  resumeReading(): void {
    if (!this.#isOpen || !this.#stream.isPaused()) return;
    this.session.account.release(unreadBytes(this.#stream));
    this.#stream.off("aborted", Http2Stream.#onAborted);
    this.#stream.resume();
  }

  onClose(listener: () => void): void {
    if (this.#isOpen) this.#closeListeners = addCloseListener(this.#closeListeners, listener);
    else listener();
  }

  isStalledSince(tick: number): boolean {
    if (this.#owedSince < 0 || this.#owedSince > tick) return false;
    // A write without a callback ends unnoticed.
    if (this.#trailers === undefined && this.#stream.writableLength === 0) this.#owedSince = -1;
    return this.#owedSince >= 0;
  }

  // Listeners of node's events, in which `this` is node's stream.

  static #onWantTrailers(this: ServerHttp2Stream): void {
    const stream = (this as Wrapped)[wrapper];
    this.sendTrailers(stream.#trailers ?? {});
    // A client that has not half-closed would keep its side of the ended stream open, and the memory of the stream with it.
    if (!this.readableEnded) setImmediate(closeLeftOpen, this);
  }

  static #onEnd(this: ServerHttp2Stream): void {
    const stream = (this as Wrapped)[wrapper];
    // Node also emits 'end' when the stream was reset.
    if (stream.isOpen) stream.#onRequestEnd?.();
  }

  /** Drops what was received while reading was paused: otherwise node never closes a stream that its client has reset with NO_ERROR. */
  static #onAborted(this: ServerHttp2Stream): void {
    (this as Wrapped)[wrapper].session.account.release(unreadBytes(this));
    this.removeAllListeners("data").resume();
  }

  static #onClose(this: ServerHttp2Stream): void {
    const stream = (this as Wrapped)[wrapper];
    stream.#isOpen = false;
    if (this.isPaused()) stream.session.account.release(unreadBytes(this));
    stream.session.removeStream(stream, this);
    stream.#releaseCharge();
    stream.#failWrites();
    const listeners = stream.#closeListeners;
    stream.#closeListeners = undefined;
    callCloseListeners(listeners);
  }

  /** The peer is owed something from now on, unless it already is. */
  #owe(): void {
    if (this.#owedSince < 0) this.#owedSince = this.session.stallClock.tick;
  }

  #settleWrite(error: Error | undefined): void {
    const onWritten = this.#onWritten;
    this.#onWritten = this.#laterOnWritten?.shift();
    const isOwed = this.#trailers !== undefined || this.#stream.writableLength > 0;
    this.#owedSince = isOwed ? this.session.stallClock.tick : -1;
    if (!isOwed) this.#releaseCharge();
    onWritten?.(error);
  }

  #releaseCharge(): void {
    if (this.#chargedBytes === 0) return;
    this.session.account.release(this.#chargedBytes);
    this.#chargedBytes = 0;
  }

  #failWrites(): void {
    if (this.#onWritten === undefined) return;
    const pending = [this.#onWritten, ...(this.#laterOnWritten ?? [])];
    this.#onWritten = undefined;
    this.#laterOnWritten = undefined;
    const error = streamEnded();
    for (const onWritten of pending) onWritten(error);
  }

  #responseHeaders(added: Headers | undefined): OutgoingHttpHeaders {
    const base = this.session.grpcHeaders.responseHeaders(this.#headers);
    return added === undefined ? base : { ...base, ...added };
  }
}

/** What a client may send while nothing is read: node opens the window again for what it buffers itself. */
function unreadBytes(stream: ServerHttp2Stream): number {
  return windowBytes + stream.readableHighWaterMark;
}

/** The stream closes after an error, and its close is handled. */
function ignore(): void {
  // Without a listener, node would raise an uncaught exception.
}

function streamEnded(): RpcError {
  return new RpcError("UNAVAILABLE", "the stream ended before the frame was written");
}
