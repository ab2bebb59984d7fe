import type { Socket } from "node:net";
import type { OpenAccount } from "./account.js";
import type { WatchedStream } from "./stallable.js";
import type { GrpcHeaderRules, ResetCode, TransportSession, WriteListener } from "./transport.js";
import { batch } from "./frame-batch.js";
import { h2Error, type ErrorName } from "./frames.js";
import { callWriteListener, streamEnded, type Charge } from "./outgoing.js";
import { OutgoingContent } from "./outgoing-content.js";
import { RequestContent, type ContentReceiver } from "./request-content.js";
import type { RequestHead } from "./request-head.js";

/** The connection that a stream belongs to. */
export interface StreamOwner extends TransportSession {
  readonly socket: Socket;
  readonly account: OpenAccount;
  /** Counts up with time, for the stall watch. */
  readonly stallClock: { readonly tick: number };
  readonly grpcHeaders: GrpcHeaderRules;
  /** A service serves the stream. */
  admit(stream: Http2Stream): void;
  /** The stream has something to send. */
  queue(stream: Http2Stream): void;
  /** Writes shared content of the stream at once, whole. False, without effect, if the connection has other work. */
  sendNow(stream: Http2Stream, content: Uint8Array): boolean;
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
 * listeners, buffers or closures of its own. RequestContent has what the client sends, OutgoingContent what it is sent.
 *
 * Invariants:
 * - The answer ends in steps: `#isEnding` (queued), `#hasEnded` (END_STREAM is in a batch), then `sent` closes the stream.
 * - After `close`, in which every stream ends, nothing is delivered, sent or charged.
 */
export abstract class Http2Stream implements WatchedStream, ContentReceiver {
  readonly session: StreamOwner;
  readonly id: number;
  readonly head: RequestHead;
  isQueued = false;
  /** A service serves it. Set by its session only. */
  isAdmitted = false;
  #hasClosed = false;
  #headerBlock: Uint8Array | undefined;
  #isEnding = false;
  #trailerBlock: Uint8Array | undefined;
  #hasEnded = false;
  readonly #incoming: RequestContent;
  readonly #outgoing: OutgoingContent;

  /** @param isPaused true if nothing is to be delivered until `resumeReading`. */
  constructor(session: StreamOwner, id: number, head: RequestHead, hasEnded: boolean, isPaused: boolean) {
    this.session = session;
    this.id = id;
    this.head = head;
    this.#incoming = new RequestContent(this, hasEnded, isPaused);
    this.#outgoing = new OutgoingContent(session, session.peerWindowBytes);
  }

  /** False once the stream or its connection has ended in any way. */
  get isOpen(): boolean {
    return !this.#hasClosed && this.session.isOpen;
  }

  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  get hasRequestEnded(): boolean {
    return this.#incoming.hasEnded;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  get isAnswered(): boolean {
    return this.#hasEnded;
  }

  get isReadingPaused(): boolean {
    return this.#incoming.isPaused;
  }

  abstract onData(piece: Buffer): void;
  /** The request's content has ended. */
  abstract onEnd(): void;
  /** Called once, when the stream has ended in any way. */
  protected abstract onClosed(): void;

  /** Sends the header block of the answer, once. */
  protected sendHeaders(block: Uint8Array): void {
    this.#headerBlock = block;
    this.session.queue(this);
  }

  /** Sends content. Callers must not modify it afterwards. Calls back once, never before it returns. */
  protected send(bytes: Uint8Array, charge: Charge, onWritten?: WriteListener): void {
    if (this.#isEnding || !this.isOpen) {
      if (onWritten !== undefined) process.nextTick(callWriteListener, onWritten, streamEnded());
      return;
    }
    this.#outgoing.add(bytes, charge, onWritten);
    this.session.queue(this);
  }

  /** Sends content that other streams send as well: at once, in a segment that they share, if nothing else is to be sent before it. */
  protected sendShared(content: Uint8Array, onWritten?: WriteListener): void {
    if (this.#mayPass(content) && this.session.sendNow(this, content))
      this.#outgoing.pass(content.length, onWritten);
    else this.send(content, "none", onWritten);
  }

  #mayPass(content: Uint8Array): boolean {
    const isReady = !this.#hasClosed && !this.#isEnding && this.#headerBlock === undefined;
    return isReady && this.#outgoing.mayPass(content.length);
  }

  protected sendEnd(trailers: Uint8Array | undefined): void {
    this.#isEnding = true;
    this.#trailerBlock = trailers;
    this.#outgoing.markPending();
    this.session.queue(this);
  }

  /** Ends the stream at once and drops everything queued. */
  reset(code: ResetCode): void {
    this.abort(code);
  }

  abort(code: ErrorName): void {
    if (this.#hasClosed) return;
    this.session.sendReset(this.id, h2Error[code], this.hasRequestEnded);
    this.close();
  }

  isStalledSince(tick: number): boolean {
    return this.#outgoing.isStalledSince(tick);
  }

  pauseReading(): void {
    if (!this.#isEnding && this.isOpen) this.#incoming.pause();
  }

  /** Delivers what was buffered meanwhile, later. */
  resumeReading(): void {
    this.#incoming.resume();
  }

  /** Delivers the end of the request once it has arrived and all content was delivered. */
  protected deliverEnd(): void {
    this.#incoming.deliverEnd();
  }

  // Called by the session only.

  /**
   * Puts as much into the batch as the windows allow. Returns the bytes that it takes of the connection's window.
   *
   * @param isAlone no other stream of the connection has anything to send
   */
  fill(connectionWindow: number, isAlone: boolean): number {
    if (this.#hasClosed) return 0;
    if (this.#headerBlock !== undefined) this.#fillHeaders(this.#headerBlock);
    const endsContent = this.#isEnding && !this.#hasEnded && this.#trailerBlock === undefined;
    const hadContent = !this.#outgoing.isFramed;
    const usedBytes = this.#outgoing.fill(this.id, connectionWindow, endsContent, isAlone);
    if (!this.#outgoing.isFramed || !this.#isEnding || this.#hasEnded) return usedBytes;
    this.#hasEnded = true;
    if (!endsContent || !hadContent) this.#fillEnd();
    return usedBytes;
  }

  #fillHeaders(block: Uint8Array): void {
    const isAll = this.#isEnding && this.#outgoing.isFramed && this.#trailerBlock === undefined;
    this.#headerBlock = undefined;
    this.#hasEnded = isAll;
    batch.headers(this.id, block, isAll);
  }

  #fillEnd(): void {
    if (this.#trailerBlock === undefined) batch.data(this.id, nothing, 0, 0, true);
    else batch.headers(this.id, this.#trailerBlock, true);
    this.#trailerBlock = undefined;
  }

  /** True if content waits that the window of the stream allows. */
  get canSend(): boolean {
    return !this.#hasClosed && this.#outgoing.canSend;
  }

  /** True if `sent` must be called after the batch. */
  get isInBatch(): boolean {
    return this.#hasEnded || this.#outgoing.isInBatch;
  }

  sent(): void {
    if (this.#hasClosed) return;
    this.#outgoing.sent(this.#hasEnded, this.#isEnding && !this.#hasEnded);
    if (this.#hasEnded) this.#end();
  }

  #end(): void {
    if (this.hasRequestEnded) this.close();
    else this.onLeftOpen();
  }

  /** The answer was sent. A client that has not ended its request would keep the stream, and its memory, open. */
  protected onLeftOpen(): void {
    setImmediate(closeLeftOpen, this);
  }

  /** Changes the send window by so many bytes. False if it is larger now than RFC 9113 allows. */
  widen(bytes: number): boolean {
    if (!this.#outgoing.widen(bytes)) return false;
    if (this.#outgoing.canSend) this.session.queue(this);
    return true;
  }

  /** Receives a piece of content. Returns the error that the stream must end with, if there is one. */
  receiveData(piece: Buffer, flowBytes: number, isLast: boolean): ErrorName | undefined {
    return this.#incoming.receive(piece, flowBytes, isLast);
  }

  receiveTrailers(): ErrorName | undefined {
    return this.#incoming.receiveTrailers();
  }

  /** Closes an answered stream; a client that has not half-closed it gets a reset. */
  closeLeftOpen(): void {
    if (this.hasRequestEnded) this.close();
    else this.abort("NO_ERROR");
  }

  /** Closes the stream: it is complete, was reset, or its connection has ended. */
  close(): void {
    if (this.#hasClosed) return;
    this.#hasClosed = true;
    this.#headerBlock = undefined;
    this.#incoming.close();
    this.#outgoing.close((framedBytes) => this.session.removeStream(this, framedBytes));
    this.onClosed();
  }
}

const nothing = new Uint8Array(0);

function closeLeftOpen(stream: Http2Stream): void {
  stream.closeLeftOpen();
}
