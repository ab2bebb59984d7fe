import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { BridgedStream } from "./bridged-stream.js";
import { addCloseListener, callCloseListeners, type CloseListeners } from "./close-listeners.js";
import { FloodGuard } from "../limits/flood-guard.js";
import { Http2Stream, type StreamOwner } from "./http2-stream.js";
import { keepForStream, keepForTwoTurns, nativeSession } from "./native-session.js";
import { peerAddress } from "./peer-address.js";
import { streamBytes, type OpenAccount } from "../limits/peer-memory.js";
import type { ReadShare, ReadTurns } from "../limits/read-turns.js";
import { SessionVitals } from "./session-vitals.js";
import { pauseReading, startReading, stopReading, unsentBytes } from "./socket-state.js";
import type { WatchedSession, WatchedStream } from "../limits/stall-watch.js";
import { RpcError, type RefusalReason } from "../status.js";
import type { GrpcHeaderRules, TransportStream } from "../transport.js";
import { UnprovenBytes } from "./unproven-bytes.js";

/** The initial stream window until the peer announces another (RFC 9113 6.9.2). */
const protocolWindowBytes = 65_535;
/** What is read from a socket at once: it may wait in the streams while reading is paused. */
const readBytes = 64 * 1024;

/** How many requests of a connection may be invalid. They are counted here and not by node, which would fail: see Http2Transport. */
const maxInvalidStreams = 1_000;

/** What a connection reports. */
export interface SessionEvents {
  /** It is about to be ended, because too many of its requests were invalid. */
  onProtocolError(): void;
  /** A request was refused, or ended early, because of a limit. */
  onRefused(reason: RefusalReason): void;
  /** Reading was held for the rest of a turn of the event loop or longer, and goes on. */
  onHeld(): void;
}

/** One client connection on node:http2. */
export class Http2Session implements StreamOwner, WatchedSession {
  readonly remoteAddress: string;
  readonly stallClock: { readonly tick: number };
  readonly account: OpenAccount;
  readonly grpcHeaders: GrpcHeaderRules;
  readonly #session: ServerHttp2Session;
  /** Each stream leads here, so this is not collected before them. */
  readonly #nativeSession: object | undefined;
  readonly #socket: Socket;
  readonly #events: SessionEvents;
  readonly #streams = new Set<Http2Stream>();
  /** Requests that are not gRPC; most connections have none. */
  #bridged: Set<BridgedStream> | undefined;
  #isOpen = true;
  #isGoingAway = false;
  #closeListeners: CloseListeners;
  #floodGuard: FloodGuard | undefined;
  /** Cached, because every write reads it; undefined after new SETTINGS. */
  #peerWindowBytes: number | undefined;
  readonly #vitals: SessionVitals;
  #isReadingPaused = false;
  #invalidStreams = 0;
  readonly #readShare: ReadShare;
  readonly #unproven: UnprovenBytes;
  #unsentBytes = 0;
  #unsentSince = 0;
  #onPingAck: ((error?: Error) => void) | undefined;

  /**
   * @param socket the one below `session`; `session.socket` is only a proxy, on which `destroy` throws.
   */
  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    account: OpenAccount,
    stallClock: { readonly tick: number },
    events: SessionEvents,
    turns: ReadTurns,
    grpcHeaders: GrpcHeaderRules,
  ) {
    this.#session = session;
    this.#nativeSession = nativeSession(session);
    this.#events = events;
    this.grpcHeaders = grpcHeaders;
    this.stallClock = stallClock;
    this.#socket = socket;
    this.account = account;
    this.remoteAddress = peerAddress(socket);
    this.#readShare = turns.enter(this);
    this.#vitals = new SessionVitals(session, socket);
    this.#unproven = new UnprovenBytes(session, socket, account, () => this.countRefusal("headers"));
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

  get isReadingPaused(): boolean {
    return this.#isReadingPaused || this.#readShare.isHeld;
  }

  countRefusal(reason: RefusalReason): void {
    this.#events.onRefused(reason);
  }

  spend(work: number): void {
    this.#readShare.spend(work);
  }

  /** Called by the read turns only. */
  holdReading(): void {
    if (this.isOpen) stopReading(this.#socket);
  }

  /** Called by the read turns only. */
  continueReading(): void {
    this.#events.onHeld();
    if (!this.isOpen || this.#isReadingPaused) return;
    this.#vitals.readOn();
    startReading(this.#socket);
  }

  pauseReading(): void {
    if (!this.isOpen) return;
    // Also if it is paused: node starts to read again when it has written.
    stopReading(this.#socket);
    if (this.#isReadingPaused) return;
    this.#isReadingPaused = true;
    this.account.charge(readBytes);
  }

  resumeReading(): void {
    if (!this.#isReadingPaused) return;
    this.#isReadingPaused = false;
    this.account.release(readBytes);
    if (this.isOpen && !this.#readShare.isHeld) startReading(this.#socket);
  }

  onClose(listener: () => void): void {
    if (this.#isOpen) this.#closeListeners = addCloseListener(this.#closeListeners, listener);
    else listener();
  }

  /** Called by the keepalive only, once per sweep; returns for how many sweeps in a row the peer has sent nothing. */
  countQuietSweep(): number {
    if (this.#vitals.countSweep(this.isReadingPaused)) this.probe();
    return this.#vitals.quietSweeps;
  }

  /** Called by the keepalive only, between sweeps. */
  lookBetweenSweeps(): void {
    this.#vitals.look(this.isReadingPaused);
  }

  /** Called by the keepalive only: see SessionVitals. */
  get hasFailed(): boolean {
    return this.#vitals.hasFailed;
  }

  /** Called by the keepalive only: sends a PING in addition to those of `ping`, unless the session is closing. */
  probe(): void {
    if (this.isOpen && !this.#session.closed) this.#unproven.ask();
  }

  /** Called by the keepalive only: charges what may be a header block that does not end. */
  checkHeaders(): void {
    if (this.isOpen && !this.#session.closed && !this.isReadingPaused) this.#unproven.check();
  }

  /** Called by the keepalive only, once per sweep; returns for how many sweeps in a row the peer may have been in a header block. */
  countHeaderSweep(): number {
    if (!this.isReadingPaused) this.#unproven.countSweep();
    return this.#unproven.unprovenSweeps;
  }

  /** Called by the transport only, for each PING or SETTINGS frame; true if they are a flood, for which it has ended the session. */
  countControlFrame(): boolean {
    this.#peerWindowBytes = undefined;
    this.#unproven.prove();
    const nowMs = performance.now();
    this.#floodGuard ??= new FloodGuard(nowMs);
    if (!this.isOpen || !this.#floodGuard.isFlood(this.#socket.bytesWritten, nowMs)) return false;
    this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.abandon();
    return true;
  }

  /** Called by the transport only, when the session has failed: closes the socket, which node does not do if the peer does not read it. */
  abandon(): void {
    // A turn later, so that the GOAWAY which is being written is sent.
    setImmediate(() => this.#socket.destroy());
  }

  get watchedStreams(): Iterable<WatchedStream> {
    return this.#bridged === undefined ? this.#streams : [...this.#streams, ...this.#bridged];
  }

  /** Called by the stall watch only, once per tick. */
  isStalledSince(tick: number): boolean {
    const bytes = unsentBytes(this.#socket);
    if (bytes === 0 || bytes !== this.#unsentBytes) {
      this.#unsentBytes = bytes;
      this.#unsentSince = this.stallClock.tick;
    }
    return bytes > 0 && this.#unsentSince <= tick;
  }

  /** Called by the transport only: resets the requests that are not gRPC, so that nothing more is answered. */
  resetBridged(): void {
    for (const stream of [...(this.#bridged ?? [])]) stream.reset("REFUSED_STREAM");
  }

  /** Called by the transport only, for a request that is not gRPC. */
  addBridged(node: ServerHttp2Stream): void {
    this.#unproven.prove(node.id);
    const stream = new BridgedStream(node, this.stallClock);
    const bridged = (this.#bridged ??= new Set());
    bridged.add(stream);
    this.account.begin();
    node.on("close", () => {
      bridged.delete(stream);
      this.#settle(node);
    });
  }

  /** Called by the transport only: nothing is read from the socket until `resume`. False if nothing was. */
  pause(): boolean {
    return this.isOpen && pauseReading(this.#socket);
  }

  /** Called by the transport only. */
  resume(): void {
    if (this.isOpen && !this.isReadingPaused) startReading(this.#socket);
  }

  /** Called by the transport only. */
  addStream(node: ServerHttp2Stream, headers: IncomingHttpHeaders, headerBytes: number): Http2Stream {
    this.#unproven.prove(node.id);
    const stream = new Http2Stream(this, node, headers, headerBytes);
    this.account.charge(streamBytes + headerBytes);
    this.account.begin();
    this.#streams.add(stream);
    return stream;
  }

  removeStream(stream: Http2Stream, node: ServerHttp2Stream): void {
    this.#streams.delete(stream);
    this.account.release(streamBytes + stream.headerBytes);
    this.#settle(node);
    if (this.#isGoingAway && this.#streams.size === 0 && this.isOpen) this.#session.close();
  }

  /** Called by the transport only, when the connection has closed. */
  handleClose(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    keepForTwoTurns(this.#nativeSession);
    this.#readShare.leave();
    this.account.close();
    if (this.#onPingAck !== undefined)
      this.#settlePing(new RpcError("UNAVAILABLE", "the connection ended before the ping was answered"));
    const listeners = this.#closeListeners;
    this.#closeListeners = undefined;
    callCloseListeners(listeners);
  }

  /** Called for each stream that has closed. */
  #settle(node: ServerHttp2Stream): void {
    this.account.finish();
    keepForStream(this.#nativeSession, node);
    if (node.rstCode === constants.NGHTTP2_PROTOCOL_ERROR) this.#countInvalidStream();
  }

  /** Called for each stream that nghttp2, or the peer, has reset because of a protocol error. */
  #countInvalidStream(): void {
    if (++this.#invalidStreams !== maxInvalidStreams) return;
    // Later, because nghttp2 may be in the middle of something.
    setImmediate(() => {
      if (!this.isOpen) return;
      this.#events.onProtocolError();
      this.#session.destroy(undefined, constants.NGHTTP2_PROTOCOL_ERROR);
      this.abandon();
    });
  }

  #settlePing(error: Error | undefined): void {
    const onAck = this.#onPingAck;
    this.#onPingAck = undefined;
    onAck?.(error);
  }
}
