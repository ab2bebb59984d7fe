import type { Socket } from "node:net";
import { GatheredBytes } from "@bunting/runtime";
import type { WatchedStream } from "./stallable.js";
import type { GrpcHeaderRules, ResetCode, TransportSession } from "./transport.js";
import { batch } from "./frame-batch.js";
import { h2Error, initialWindowBytes, maxFrameBytes, maxWindowBytes, type ErrorName } from "./frames.js";
import { releaseUnframed, streamEnded, type Charge, type Outgoing } from "./outgoing.js";
import type { RequestHead } from "./request-head.js";

/** Bytes that a stream sends before another stream has its turn. */
const bytesPerTurn = 64 * 1024;
/** The receive window is opened again in steps of half its size. */
const creditBytes = initialWindowBytes >>> 1;
/** Size of the pieces in which buffered content is delivered. */
const bufferedPieceBytes = 512;

/** The connection that a stream belongs to. */
export interface StreamOwner extends TransportSession {
  readonly socket: Socket;
  /** Counts up with time, for the stall watch. */
  readonly stallClock: { readonly tick: number };
  readonly grpcHeaders: GrpcHeaderRules;
  /** A service serves the stream. */
  admit(stream: Http2Stream): void;
  /** The stream has something to send. */
  queue(stream: Http2Stream): void;
  sendWindowUpdate(streamId: number, bytes: number): void;
  /** Sends the headers of an interim response (1xx). */
  sendInformational(streamId: number, block: Uint8Array): void;
  /** @param hasRequestEnded false if the client may still send content, which is then ignored */
  sendReset(streamId: number, code: number, hasRequestEnded: boolean): void;
  /**
   * Called once, when the stream has closed.
   *
   * @param framedBytes charged bytes of content in a batch: they stay charged until the system has taken the batch
   */
  removeStream(stream: Http2Stream, framedBytes: number): void;
}

/**
 * A request and its answer (RFC 9113 5). There may be a hundred thousand of these, so an idle one holds only what it needs: no
 * listeners, buffers or closures of its own. Content waits here until the session makes a batch: flow control decides then.
 *
 *     #oldest ──(#inBatch pieces, framed whole)──> #unsent (perhaps framed in part) ──> #newest      one linked list
 *
 * Invariants:
 * - `fill` puts frames into the batch and moves `#unsent`; undefined: all is framed. `sent` moves `#oldest`: the system has
 *   taken the batch, so its pieces are released, and their callbacks called, once each.
 * - The answer ends in steps: `#isEnding` (queued), `#hasEnded` (END_STREAM is in a batch), then `sent` closes the stream.
 *   The request ends in steps: `#hasRequestEnded` (END_STREAM has arrived), `#isEndDelivered` (after all content).
 * - `#pendingSince` is the tick since which the peer has taken nothing of what is pending; -1 if nothing is pending.
 * - While paused, content goes to `#buffered`, charged as `#bufferedBytes`. The window bounds it: credit comes on delivery.
 * - After `close`, in which every stream ends, nothing is delivered, sent or charged.
 */
export abstract class Http2Stream implements WatchedStream {
  readonly session: StreamOwner;
  readonly id: number;
  readonly head: RequestHead;
  isQueued = false;
  #isOpen = true;
  /** Bytes that the peer still takes; below 0 after it has made its windows smaller. */
  #sendWindow: number;
  #headerBlock: Uint8Array | undefined;
  #isEnding = false;
  #trailerBlock: Uint8Array | undefined;
  #hasEnded = false;
  #oldest: Outgoing | undefined;
  #unsent: Outgoing | undefined;
  #newest: Outgoing | undefined;
  #inBatch = 0;
  #pendingSince = -1;
  #receiveWindow = initialWindowBytes;
  #uncreditedBytes = 0;
  #receivedBytes = 0;
  #hasRequestEnded: boolean;
  #isEndDelivered = false;
  /** A service serves it. Set by its session only. */
  isAdmitted = false;
  #isPaused: boolean;
  #buffered: GatheredBytes | undefined;
  #bufferedBytes = 0;

  /** @param isPaused true if nothing is to be delivered until `resumeReading`. */
  constructor(session: StreamOwner, id: number, head: RequestHead, hasEnded: boolean, isPaused: boolean) {
    this.session = session;
    this.id = id;
    this.head = head;
    this.#hasRequestEnded = hasEnded;
    this.#isPaused = isPaused;
    this.#sendWindow = session.peerWindowBytes;
  }

  /** False once the stream or its connection has ended in any way. */
  get isOpen(): boolean {
    return this.#isOpen && this.session.isOpen;
  }

  get hasRequestEnded(): boolean {
    return this.#hasRequestEnded;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  get isAnswered(): boolean {
    return this.#hasEnded;
  }

  get isReadingPaused(): boolean {
    return this.#isPaused;
  }

  /** Receives a piece of the request's content. */
  protected abstract onData(piece: Buffer): void;
  /** The request's content has ended. */
  protected abstract onEnd(): void;
  /** Called once, when the stream has ended in any way. */
  protected abstract onClosed(): void;

  /** Sends the header block of the answer, once. */
  protected sendHeaders(block: Uint8Array): void {
    this.#headerBlock = block;
    this.session.queue(this);
  }

  /** Sends content. Callers must not modify it afterwards. Calls back once, never before it returns. */
  protected send(bytes: Uint8Array, charge: Charge, onWritten?: (error?: Error) => void): void {
    if (this.#isEnding || !this.isOpen) {
      if (onWritten !== undefined) process.nextTick(onWritten, streamEnded());
      return;
    }
    if (charge === "stream") this.session.account.charge(bytes.length);
    const added: Outgoing = { bytes, charge, onWritten, framedBytes: 0, next: undefined };
    if (this.#newest !== undefined) this.#newest.next = added;
    this.#newest = added;
    this.#oldest ??= added;
    this.#unsent ??= added;
    this.#markPending();
    this.session.queue(this);
  }

  protected sendEnd(trailers: Uint8Array | undefined): void {
    this.#isEnding = true;
    this.#trailerBlock = trailers;
    this.#markPending();
    this.session.queue(this);
  }

  /** Ends the stream at once and drops everything queued. */
  reset(code: ResetCode): void {
    this.abort(code);
  }

  abort(code: ErrorName): void {
    if (!this.#isOpen) return;
    this.session.sendReset(this.id, h2Error[code], this.#hasRequestEnded);
    this.close();
  }

  isStalledSince(tick: number): boolean {
    return this.#pendingSince >= 0 && this.#pendingSince <= tick;
  }

  pauseReading(): void {
    if (this.#isEnding || !this.isOpen) return;
    this.#isPaused = true;
  }

  /** Delivers what was buffered meanwhile, later. */
  resumeReading(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // In the next tick: the caller may not be ready for content.
    if (this.#buffered !== undefined || this.#hasRequestEnded) process.nextTick(deliverBuffered, this);
  }

  // Called by the session only.

  /** Puts as much into the batch as the windows allow. Returns the bytes that it takes of the connection's window. */
  fill(connectionWindow: number): number {
    if (!this.#isOpen) return 0;
    if (this.#headerBlock !== undefined) this.#fillHeaders(this.#headerBlock);
    let usedBytes = 0;
    const maxBytes = Math.min(connectionWindow, this.#sendWindow, bytesPerTurn);
    while (this.#unsent !== undefined) {
      const sending = this.#unsent;
      const start = sending.framedBytes;
      const length = Math.min(sending.bytes.length - start, maxFrameBytes, maxBytes - usedBytes);
      const isWhole = start + length === sending.bytes.length;
      if (length <= 0 && !isWhole) break;
      const isLast =
        isWhole && sending.next === undefined && this.#isEnding && this.#trailerBlock === undefined;
      if (length > 0 || isLast) batch.data(this.id, sending.bytes, start, start + length, isLast);
      this.#hasEnded = isLast;
      usedBytes += length;
      sending.framedBytes += length;
      if (!isWhole) continue;
      this.#unsent = sending.next;
      this.#inBatch++;
    }
    this.#sendWindow -= usedBytes;
    // A peer that takes a large message slowly is not stalled.
    if (usedBytes > 0 && this.#pendingSince >= 0) this.#pendingSince = this.session.stallClock.tick;
    if (this.#unsent === undefined && this.#isEnding && !this.#hasEnded) this.#fillEnd();
    return usedBytes;
  }

  #fillHeaders(block: Uint8Array): void {
    const isAll = this.#isEnding && this.#unsent === undefined && this.#trailerBlock === undefined;
    this.#headerBlock = undefined;
    this.#hasEnded = isAll;
    batch.headers(this.id, block, isAll);
  }

  #fillEnd(): void {
    this.#hasEnded = true;
    if (this.#trailerBlock === undefined) batch.data(this.id, nothing, 0, 0, true);
    else batch.headers(this.id, this.#trailerBlock, true);
    this.#trailerBlock = undefined;
  }

  /** True if content waits that the window of the stream allows. */
  get canSend(): boolean {
    return this.#isOpen && this.#unsent !== undefined && this.#sendWindow > 0;
  }

  /** True if `sent` must be called after the batch. */
  get isInBatch(): boolean {
    return this.#inBatch > 0 || this.#hasEnded;
  }

  sent(): void {
    if (!this.#isOpen) return;
    const { session } = this;
    let done = this.#oldest;
    let rest = done;
    for (; this.#inBatch > 0 && rest !== undefined; this.#inBatch--) {
      if (rest.charge === "stream") session.account.release(rest.bytes.length);
      rest = rest.next;
    }
    this.#oldest = rest;
    if (rest === undefined) this.#newest = undefined;
    if (done !== rest || this.#hasEnded) {
      const isPending = rest !== undefined || (this.#isEnding && !this.#hasEnded);
      this.#pendingSince = isPending ? session.stallClock.tick : -1;
    }
    for (; done !== undefined && done !== rest; done = done.next) done.onWritten?.();
    if (this.#hasEnded) this.#end();
  }

  /** The answer was sent. A client that has not ended its request would keep the stream, and its memory, open. */
  #end(): void {
    if (this.#hasRequestEnded) this.close();
    else setImmediate(closeLeftOpen, this);
  }

  /** Changes the send window by so many bytes. False if it is larger now than RFC 9113 allows. */
  widen(bytes: number): boolean {
    this.#sendWindow += bytes;
    if (this.#sendWindow > maxWindowBytes) return false;
    if (this.#unsent !== undefined && this.#sendWindow > 0) this.session.queue(this);
    return true;
  }

  /** Receives a piece of content. Returns the error that the stream must end with, if there is one. */
  receiveData(piece: Buffer, flowBytes: number, isLast: boolean): ErrorName | undefined {
    if (this.#hasRequestEnded) return "STREAM_CLOSED";
    this.#receiveWindow -= flowBytes;
    if (this.#receiveWindow < 0) return "FLOW_CONTROL_ERROR";
    this.#receivedBytes += piece.length;
    if (!this.#isOfLength(isLast)) return "PROTOCOL_ERROR";
    if (isLast) this.#hasRequestEnded = true;
    this.#credit(flowBytes - piece.length);
    if (piece.length > 0) {
      if (this.#isPaused || this.#buffered !== undefined) this.#buffer(piece);
      else {
        this.onData(piece);
        this.#credit(piece.length);
      }
    }
    if (isLast) this.deliverEnd();
    return undefined;
  }

  receiveTrailers(): ErrorName | undefined {
    if (this.#hasRequestEnded) return "STREAM_CLOSED";
    if (!this.#isOfLength(true)) return "PROTOCOL_ERROR";
    this.#hasRequestEnded = true;
    this.deliverEnd();
    return undefined;
  }

  /** Delivers the end of the request once it has arrived and all content was delivered. */
  deliverEnd(): void {
    if (!this.#hasRequestEnded || this.#isEndDelivered || !this.#isOpen) return;
    if (this.#isPaused || this.#buffered !== undefined) return;
    this.#isEndDelivered = true;
    this.onEnd();
  }

  /** Delivers buffered content until reading is paused again. */
  deliverBuffered(): void {
    const bytes = this.#buffered?.take();
    if (this.#buffered === undefined || bytes === undefined) {
      this.deliverEnd();
      return;
    }
    // In pieces, so that the receiver can pause reading after each. Nothing arrives meanwhile.
    let at = 0;
    while (at < bytes.length && !this.#isPaused && this.#isOpen) {
      const piece = bytes.subarray(at, at + bufferedPieceBytes);
      at += piece.length;
      this.onData(piece);
      this.#credit(piece.length);
    }
    if (!this.#isOpen) return;
    if (at < bytes.length) this.#buffered.push(bytes.subarray(at));
    this.#chargeBuffered();
    if (this.#buffered.length > 0) return;
    this.#buffered = undefined;
    this.deliverEnd();
  }

  /** Closes an answered stream; a client that has not half-closed it gets a reset. */
  closeLeftOpen(): void {
    if (!this.#isOpen) return;
    if (this.#hasRequestEnded) this.close();
    else this.abort("NO_ERROR");
  }

  /** Closes the stream: it is complete, was reset, or its connection has ended. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { session } = this;
    this.#buffered = undefined;
    this.#chargeBuffered();
    let pending = this.#oldest;
    this.#oldest = undefined;
    this.#unsent = undefined;
    this.#newest = undefined;
    this.#headerBlock = undefined;
    session.removeStream(this, releaseUnframed(pending, session.account));
    let error: Error | undefined;
    for (; pending !== undefined; pending = pending.next)
      if (pending.onWritten !== undefined) pending.onWritten((error ??= streamEnded()));
    this.onClosed();
  }

  #markPending(): void {
    if (this.#pendingSince < 0) this.#pendingSince = this.session.stallClock.tick;
  }

  #isOfLength(isLast: boolean): boolean {
    const { contentLength } = this.head;
    if (contentLength < 0) return true;
    return isLast ? this.#receivedBytes === contentLength : this.#receivedBytes <= contentLength;
  }

  #buffer(piece: Buffer): void {
    (this.#buffered ??= new GatheredBytes()).push(piece);
    this.#chargeBuffered();
  }

  #chargeBuffered(): void {
    const bytes = this.#buffered?.allocatedBytes ?? 0;
    const change = bytes - this.#bufferedBytes;
    this.#bufferedBytes = bytes;
    if (change > 0) this.session.account.charge(change);
    else if (change < 0) this.session.account.release(-change);
  }

  /** Gives so many bytes back to the window of the client, in steps of `creditBytes`. */
  #credit(bytes: number): void {
    this.#uncreditedBytes += bytes;
    if (this.#uncreditedBytes < creditBytes || this.#hasRequestEnded || !this.#isOpen) return;
    this.session.sendWindowUpdate(this.id, this.#uncreditedBytes);
    this.#receiveWindow += this.#uncreditedBytes;
    this.#uncreditedBytes = 0;
  }
}

const nothing = new Uint8Array(0);

function deliverBuffered(stream: Http2Stream): void {
  stream.deliverBuffered();
}

function closeLeftOpen(stream: Http2Stream): void {
  stream.closeLeftOpen();
}
