import type { Socket } from "node:net";
import { peerAddress } from "./peer-address.js";
import type { RefusalReason } from "./status.js";
import type { CloseListener, GrpcHeaderRules, PeerCertificate, TransportStream } from "./transport.js";
import { streamBytes, type OpenAccount } from "./account.js";
import { addCloseListener, callCloseListeners, type CloseListeners } from "./close-listeners.js";
import { h2Error, goawayFrame, initialWindowBytes, rstStreamFrame, windowUpdateFrame } from "./frames.js";
import { GrpcStream } from "./grpc-stream.js";
import type { Http2Stream, StreamOwner } from "./http2-stream.js";
import type { RequestHead } from "./request-head.js";
import type { SessionEvents } from "./session-events.js";
import { SessionInput, type InputOwner, type SessionLimits } from "./session-input.js";
import { SessionOutput, type OutputOwner } from "./session-output.js";
import { SessionPings } from "./session-pings.js";
import { SessionReading, type ReadingOwner } from "./session-reading.js";
import { SessionStreams } from "./session-streams.js";
import type { SocketAccess } from "./socket-access.js";
import { StreamIds } from "./stream-ids.js";
import { listenTo, type SocketOwner } from "./socket-listeners.js";
import { SocketStall } from "./socket-stall.js";
import type { WatchedSession, WatchedStream } from "./stallable.js";
import type { SharedTurns } from "./turn-share.js";

/** Time and bytes that a peer has to close a connection that we have ended; the bytes are dropped. */
const closingMs = 1_000;
const maxDroppedBytes = 1024 * 1024;

/** Parts that the connections of a transport have in common. */
export interface SessionOptions {
  readonly stallClock: { readonly tick: number };
  readonly events: SessionEvents<Http2Session>;
  readonly turns: SharedTurns;
  readonly sockets: SocketAccess;
  readonly grpcHeaders: GrpcHeaderRules;
  readonly limits: SessionLimits;
}

/** One client connection: HTTP/2 (RFC 9113) on a socket. SessionInput has the rules for what comes, SessionOutput for what is sent. */
export class Http2Session
  implements StreamOwner, WatchedSession, InputOwner, OutputOwner, ReadingOwner, SocketOwner
{
  readonly remoteAddress: string;
  readonly isEncrypted: boolean;
  readonly peerCertificate: PeerCertificate | undefined;
  readonly stallClock: { readonly tick: number };
  readonly account: OpenAccount;
  readonly grpcHeaders: GrpcHeaderRules;
  readonly socket: Socket;
  readonly sockets: SocketAccess;
  readonly #events: SessionEvents<Http2Session>;
  readonly limits: SessionLimits;
  /** A field, because a broadcast reads it for each subscriber. */
  peerWindowBytes = initialWindowBytes;
  readonly open = new SessionStreams();
  readonly ids = new StreamIds();
  #admitted = 0;
  #isOpen = true;
  /** It has been ended because of an error: nothing is read any more. */
  #hasFailed = false;
  #closeListeners: CloseListeners;
  readonly #output: SessionOutput;
  readonly #input: SessionInput;
  readonly reading: SessionReading;
  readonly #stall: SocketStall;
  #droppedBytes = 0;
  readonly pings = new SessionPings();
  #heardBytes = -1;
  #quietSweeps = 0;

  /** @param openAccount makes its account, which ends it by `evict` */
  constructor(socket: Socket, openAccount: (session: Http2Session) => OpenAccount, options: SessionOptions) {
    this.socket = socket;
    this.sockets = options.sockets;
    this.account = openAccount(this);
    this.#events = options.events;
    this.limits = options.limits;
    this.grpcHeaders = options.grpcHeaders;
    this.stallClock = options.stallClock;
    this.remoteAddress = peerAddress(socket);
    this.isEncrypted = options.sockets.isEncrypted(socket);
    this.peerCertificate = options.sockets.peerCertificateOf(socket);
    this.#stall = new SocketStall(options.stallClock);
    this.reading = new SessionReading(this, options.turns);
    this.#output = new SessionOutput(socket, this);
    this.#input = new SessionInput(this, this.#output);
  }

  /** Sends SETTINGS, in one write with the answers to what the client has sent so far, and reads on. */
  start(settings: Uint8Array, seen: Buffer): void {
    listenTo(this.socket, this);
    this.#output.beginReading();
    this.#output.control(settings);
    this.read(seen);
  }

  get streams(): readonly TransportStream[] {
    return this.open.calls;
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#hasFailed && !this.socket.destroyed;
  }

  get lastStreamId(): number {
    return this.ids.newest;
  }

  goaway(): void {
    if (this.isOpen) this.#output.goaway();
  }

  ping(onAck: (error?: Error) => void): boolean {
    if (!this.isOpen || this.#output.isEnded) return false;
    const frame = this.pings.ping(onAck);
    if (frame !== undefined) this.#output.control(frame);
    return frame !== undefined;
  }

  /** Called by its account only. */
  evict(hasTime: boolean): void {
    this.#events.onEvicted(this, hasTime);
  }

  destroy(): void {
    // The rest of a chunk that is being read.
    this.#input.stop();
    this.socket.destroy();
  }

  get isReadingPaused(): boolean {
    return this.reading.isPaused;
  }

  countRefusal(reason: RefusalReason): void {
    this.#events.onRefused(reason);
  }

  spend(work: number): void {
    this.reading.spend(work);
  }

  pauseReading(): void {
    this.reading.pause();
  }

  resumeReading(): void {
    this.reading.resume();
  }

  onClose(listener: CloseListener): void {
    if (this.#isOpen) this.#closeListeners = addCloseListener(this.#closeListeners, listener);
    else callCloseListeners(listener);
  }

  // For the stall watch and the keepalive.

  get watchedStreams(): Iterable<WatchedStream> {
    return this.open.values();
  }

  isStalledSince(tick: number): boolean {
    return this.#stall.isStalledSince(tick, this.sockets.unsentBytes(this.socket));
  }

  /** Called once per sweep; returns for how many sweeps in a row the peer has sent nothing. */
  countQuietSweep(): number {
    const { bytesRead } = this.socket;
    // While reading is paused, we do not hear the peer.
    const isQuiet = bytesRead === this.#heardBytes && !this.isReadingPaused;
    this.#heardBytes = bytesRead;
    this.#quietSweeps = isQuiet ? this.#quietSweeps + 1 : 0;
    return this.#quietSweeps;
  }

  /** Called once per sweep; returns for how many sweeps in a row the peer has been in the same header block. */
  countHeaderSweep(): number {
    return this.isReadingPaused ? 0 : this.#input.countHeaderSweep();
  }

  /** Sends a PING in addition to those of `ping`. */
  probe(): void {
    const frame = this.isOpen ? this.pings.probe() : undefined;
    if (frame !== undefined) this.#output.control(frame);
  }

  // For the transport.

  addCall(streamId: number, head: RequestHead, hasEnded: boolean): GrpcStream {
    const stream = new GrpcStream(this, streamId, head, hasEnded);
    this.account.charge(streamBytes + head.bytes);
    this.open.add(stream);
    return stream;
  }

  // For its streams.

  admit(stream: Http2Stream): void {
    if (stream.isAdmitted || !stream.isOpen) return;
    stream.isAdmitted = true;
    this.account.begin();
    if (this.#admitted++ === 0) this.#events.onServed(this, true);
  }

  queue(stream: Http2Stream): void {
    this.#output.queue(stream);
  }

  sendNow(stream: Http2Stream, content: Uint8Array): boolean {
    return this.#output.sendNow(stream, content);
  }

  sendWindowUpdate(streamId: number, bytes: number): void {
    this.#output.control(windowUpdateFrame(streamId, bytes));
  }

  sendInformational(streamId: number, block: Uint8Array): void {
    this.#output.informational(streamId, block);
  }

  sendReset(streamId: number, code: number, hasRequestEnded: boolean): void {
    if (!hasRequestEnded) this.ids.ignore(streamId);
    this.#output.control(rstStreamFrame(streamId, code));
  }

  removeStream(stream: Http2Stream, framedBytes: number): void {
    if (this.open.delete(stream) && stream instanceof GrpcStream)
      this.account.release(streamBytes + stream.head.bytes);
    if (stream.isAdmitted) this.account.finish();
    else this.account.drop();
    if (stream.isAdmitted && --this.#admitted === 0) this.#events.onServed(this, false);
    this.#output.forget(stream, framedBytes);
    if (this.isDone) this.#output.schedule();
  }

  read(chunk: Buffer): void {
    if (this.#hasFailed || this.#output.isEnded) {
      this.reading.drop(chunk.length);
      this.#droppedBytes += chunk.length;
      if (this.#droppedBytes > maxDroppedBytes) this.destroy();
    } else this.reading.take(chunk);
  }

  // For its reading.

  handle(chunk: Buffer): Buffer | undefined {
    this.#output.beginReading();
    const rest = this.#input.push(chunk);
    this.#output.endReading();
    return rest;
  }

  onReadOn(): void {
    this.#events.onReadingResumed();
  }

  // For its input.

  begins(streamId: number, head: RequestHead, hasEnded: boolean): void {
    this.#events.onRequest(this, streamId, head, hasEnded);
  }

  onSettingsAck(): void {
    this.#events.onSettingsAck(this);
  }

  fail(code: number, reason: string): void {
    if (this.#hasFailed) return;
    this.#events.onProtocolError();
    this.#end(code, reason);
  }

  failByFlood(): void {
    if (this.#hasFailed) return;
    this.#events.onFlood();
    this.#end(h2Error.ENHANCE_YOUR_CALM, "too many PING or SETTINGS frames");
  }

  // The end.

  /** Ends the connection because of its peer, with the reason. */
  #end(code: number, reason: string): void {
    if (this.#hasFailed || !this.#isOpen) return;
    this.#hasFailed = true;
    this.#output.control(goawayFrame(this.lastStreamId, code, reason));
    this.#input.stop();
    this.reading.stop();
    this.open.close();
    // Also if the peer does not read why.
    this.onDone();
  }

  get isDone(): boolean {
    return this.#hasFailed || (this.#output.hasSentGoaway && this.open.size === 0);
  }

  onDone(): void {
    setTimeout(() => this.destroy(), closingMs).unref();
  }

  onUnread(): void {
    if (!this.#hasFailed) this.#events.onFlood();
    this.destroy();
  }

  handleClose(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#input.stop();
    this.open.close();
    this.reading.leave();
    this.account.close();
    this.pings.close();
    this.#events.onClosed(this);
    const listeners = this.#closeListeners;
    this.#closeListeners = undefined;
    callCloseListeners(listeners);
  }
}
