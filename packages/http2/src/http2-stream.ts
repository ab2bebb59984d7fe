import type { Socket } from "node:net";
import { GatheredBytes } from "@bunting/runtime";
import type { WatchedStream } from "./stallable.js";
import type { GrpcHeaderRules, ResetCode, TransportSession } from "./transport.js";
import { batch } from "./frame-batch.js";
import { h2Error, initialWindowBytes, maxFrameBytes, maxWindowBytes, type ErrorName } from "./frames.js";
import { releaseUnframed, streamEnded, type Charge, type Outgoing } from "./outgoing.js";
import type { RequestHead } from "./request-head.js";

/** What a stream sends before it is the turn of another one. */
const bytesPerTurn = 64 * 1024;
/** The window is opened again in steps of half of it. */
const creditBytes = initialWindowBytes >>> 1;
/** In what pieces content is delivered that was held. */
const heldPieceBytes = 512;

/** The connection that a stream belongs to. */
export interface StreamOwner extends TransportSession {
  readonly socket: Socket;
  /** Counts up with time, for the stall watch. */
  readonly stallClock: { readonly tick: number };
  readonly grpcHeaders: GrpcHeaderRules;
  /** The stream has something to send. */
  queue(stream: Http2Stream): void;
  sendWindowUpdate(streamId: number, bytes: number): void;
  /** Sends the headers of an answer 1xx, which another follows. */
  sendInformational(streamId: number, block: Uint8Array): void;
  /** @param hasRequestEnded false if the client may still send content, which is then ignored */
  sendReset(streamId: number, code: number, hasRequestEnded: boolean): void;
  /**
   * Called once, when the stream has closed.
   *
   * @param framedBytes charged for content that is part of a batch, or was: it stays charged until the system has taken the batch
   */
  removeStream(stream: Http2Stream, framedBytes: number): void;
}

/**
 * A request and its answer (RFC 9113 5). There may be a hundred thousand of these, so an idle one holds only what it needs, and none has
 * listeners, buffers or closures of its own. What is sent waits here until its session makes the next batch: flow control decides then.
 */
export abstract class Http2Stream implements WatchedStream {
  readonly session: StreamOwner;
  readonly id: number;
  readonly head: RequestHead;
  /** True while it is among those of the session that have something to send. */
  isQueued = false;
  #isOpen = true;
  /** What the peer still takes; below 0 after it has made its windows smaller. */
  #sendWindow: number;
  #headerBlock: Uint8Array | undefined;
  #isEnding = false;
  /** The trailers, if there are any. */
  #endBlock: Uint8Array | undefined;
  #hasEnded = false;
  /** All that the system has not taken, and the first and last of these; some of them are part of a batch that is being written. */
  #oldest: Outgoing | undefined;
  #unsent: Outgoing | undefined;
  #newest: Outgoing | undefined;
  #inBatch = 0;
  /** The tick since which the peer has taken nothing of what it is owed; -1 if it is owed nothing. */
  #owedSince = -1;
  #receiveWindow = initialWindowBytes;
  #uncreditedBytes = 0;
  #receivedBytes = 0;
  #hasRequestEnded: boolean;
  #isEndDelivered = false;
  #isPaused: boolean;
  /** What came while reading was paused. */
  #held: GatheredBytes | undefined;
  #heldBytes = 0;

  /** @param isPaused true if nothing is to be delivered until `resumeReading`. */
  constructor(session: StreamOwner, id: number, head: RequestHead, hasEnded: boolean, isPaused: boolean) {
    this.session = session;
    this.id = id;
    this.head = head;
    this.#hasRequestEnded = hasEnded;
    this.#isPaused = isPaused;
    this.#sendWindow = session.peerWindowBytes;
  }

  /** False once it has ended in any way. */
  get isOpen(): boolean {
    return this.#isOpen && this.session.isOpen;
  }

  /** True once the client has sent all of its request. */
  get hasRequestEnded(): boolean {
    return this.#hasRequestEnded;
  }

  /** True once the answer's end is on its way, which may be behind much else. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** True once all of the answer is part of a batch. */
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

  /** Sends content, which must not be modified afterwards. Calls back once, never before it returns. */
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
    this.#owe();
    this.session.queue(this);
  }

  /** Ends the answer, behind all that was sent. */
  protected sendEnd(trailers: Uint8Array | undefined): void {
    this.#isEnding = true;
    this.#endBlock = trailers;
    this.#owe();
    this.session.queue(this);
  }

  /** Ends the stream at once and drops everything queued. */
  reset(code: ResetCode): void {
    this.abort(code);
  }

  /** Ends the stream with any code. */
  abort(code: ErrorName): void {
    if (!this.#isOpen) return;
    this.session.sendReset(this.id, h2Error[code], this.#hasRequestEnded);
    this.close();
  }

  isStalledSince(tick: number): boolean {
    return this.#owedSince >= 0 && this.#owedSince <= tick;
  }

  pauseReading(): void {
    if (this.#isEnding || !this.isOpen) return;
    this.#isPaused = true;
  }

  /** What has come meanwhile is delivered later. */
  resumeReading(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // Later, because the caller may not be ready for it.
    if (this.#held !== undefined || this.#hasRequestEnded) process.nextTick(deliverHeld, this);
  }

  // Called by the session only.

  /** Puts as much as the windows allow into the batch; returns by how much that narrows the window of the connection. */
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
      const isLast = isWhole && sending.next === undefined && this.#isEnding && this.#endBlock === undefined;
      if (length > 0 || isLast) batch.data(this.id, sending.bytes, start, start + length, isLast);
      this.#hasEnded = isLast;
      usedBytes += length;
      sending.framedBytes += length;
      if (!isWhole) continue;
      this.#unsent = sending.next;
      this.#inBatch++;
    }
    this.#sendWindow -= usedBytes;
    // A peer that takes a large message slowly takes it.
    if (usedBytes > 0 && this.#owedSince >= 0) this.#owedSince = this.session.stallClock.tick;
    if (this.#unsent === undefined && this.#isEnding && !this.#hasEnded) this.#fillEnd();
    return usedBytes;
  }

  #fillHeaders(block: Uint8Array): void {
    const isAll = this.#isEnding && this.#unsent === undefined && this.#endBlock === undefined;
    this.#headerBlock = undefined;
    this.#hasEnded = isAll;
    batch.headers(this.id, block, isAll);
  }

  #fillEnd(): void {
    this.#hasEnded = true;
    if (this.#endBlock === undefined) batch.data(this.id, nothing, 0, 0, true);
    else batch.headers(this.id, this.#endBlock, true);
    this.#endBlock = undefined;
  }

  /** True if it has something to send, and its own window allows it. */
  get canSend(): boolean {
    return this.#isOpen && this.#unsent !== undefined && this.#sendWindow > 0;
  }

  /** True if the batch has something to which `sent` reacts. */
  get isInBatch(): boolean {
    return this.#inBatch > 0 || this.#hasEnded;
  }

  /** The system has taken the batch. */
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
      const isOwed = rest !== undefined || (this.#isEnding && !this.#hasEnded);
      this.#owedSince = isOwed ? session.stallClock.tick : -1;
    }
    for (; done !== undefined && done !== rest; done = done.next) done.onWritten?.();
    if (this.#hasEnded) this.#end();
  }

  /** The answer was sent. A client that has not sent all of its request would keep its side open, and the memory of the stream with it. */
  #end(): void {
    if (this.#hasRequestEnded) this.close();
    else setImmediate(closeLeftOpen, this);
  }

  /** Opens the peer's window, or makes it smaller; false if that is more than any window can have. */
  widen(bytes: number): boolean {
    this.#sendWindow += bytes;
    if (this.#sendWindow > maxWindowBytes) return false;
    if (this.#unsent !== undefined && this.#sendWindow > 0) this.session.queue(this);
    return true;
  }

  /** Receives a piece of content, or an error that ends the stream is returned. */
  receiveData(piece: Buffer, flowBytes: number, isLast: boolean): ErrorName | undefined {
    if (this.#hasRequestEnded) return "STREAM_CLOSED";
    this.#receiveWindow -= flowBytes;
    if (this.#receiveWindow < 0) return "FLOW_CONTROL_ERROR";
    this.#receivedBytes += piece.length;
    if (!this.#isOfLength(isLast)) return "PROTOCOL_ERROR";
    if (isLast) this.#hasRequestEnded = true;
    this.#credit(flowBytes - piece.length);
    if (piece.length > 0) {
      if (this.#isPaused || this.#held !== undefined) this.#hold(piece);
      else {
        this.onData(piece);
        this.#credit(piece.length);
      }
    }
    if (isLast) this.deliverEnd();
    return undefined;
  }

  /** The request has ended with trailers. */
  receiveTrailers(): ErrorName | undefined {
    if (this.#hasRequestEnded) return "STREAM_CLOSED";
    if (!this.#isOfLength(true)) return "PROTOCOL_ERROR";
    this.#hasRequestEnded = true;
    this.deliverEnd();
    return undefined;
  }

  /** Delivers the end of the request, if it has come and all before it was delivered. */
  deliverEnd(): void {
    if (!this.#hasRequestEnded || this.#isEndDelivered || !this.#isOpen) return;
    if (this.#isPaused || this.#held !== undefined) return;
    this.#isEndDelivered = true;
    this.onEnd();
  }

  /** Delivers what came while reading was paused, as long as it is not paused again. */
  deliverHeld(): void {
    const bytes = this.#held?.take();
    if (this.#held === undefined || bytes === undefined) {
      this.deliverEnd();
      return;
    }
    // In pieces, because each may be enough for the receiver: it can pause reading in between. Nothing arrives meanwhile.
    let at = 0;
    while (at < bytes.length && !this.#isPaused && this.#isOpen) {
      const piece = bytes.subarray(at, at + heldPieceBytes);
      at += piece.length;
      this.onData(piece);
      this.#credit(piece.length);
    }
    if (!this.#isOpen) return;
    if (at < bytes.length) this.#held.push(bytes.subarray(at));
    this.#chargeHeld();
    if (this.#held.length > 0) return;
    this.#held = undefined;
    this.deliverEnd();
  }

  /** A client that has not half-closed loses its side of a stream that was answered. */
  closeLeftOpen(): void {
    if (!this.#isOpen) return;
    if (this.#hasRequestEnded) this.close();
    else this.abort("NO_ERROR");
  }

  /** Ends the stream, because it was reset or its connection has ended. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { session } = this;
    this.#held = undefined;
    this.#chargeHeld();
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

  #owe(): void {
    if (this.#owedSince < 0) this.#owedSince = this.session.stallClock.tick;
  }

  #isOfLength(isLast: boolean): boolean {
    const { contentLength } = this.head;
    if (contentLength < 0) return true;
    return isLast ? this.#receivedBytes === contentLength : this.#receivedBytes <= contentLength;
  }

  #hold(piece: Buffer): void {
    (this.#held ??= new GatheredBytes()).push(piece);
    this.#chargeHeld();
  }

  #chargeHeld(): void {
    const bytes = this.#held?.heldBytes ?? 0;
    const change = bytes - this.#heldBytes;
    this.#heldBytes = bytes;
    if (change > 0) this.session.account.charge(change);
    else if (change < 0) this.session.account.release(-change);
  }

  /** The client may send so much more. */
  #credit(bytes: number): void {
    this.#uncreditedBytes += bytes;
    if (this.#uncreditedBytes < creditBytes || this.#hasRequestEnded || !this.#isOpen) return;
    this.session.sendWindowUpdate(this.id, this.#uncreditedBytes);
    this.#receiveWindow += this.#uncreditedBytes;
    this.#uncreditedBytes = 0;
  }
}

const nothing = new Uint8Array(0);

function deliverHeld(stream: Http2Stream): void {
  stream.deliverHeld();
}

function closeLeftOpen(stream: Http2Stream): void {
  stream.closeLeftOpen();
}
