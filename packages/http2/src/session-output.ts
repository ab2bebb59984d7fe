import type { Socket } from "node:net";
import { streamBytes, type PeerAccount } from "./account.js";
import { batch } from "./frame-batch.js";
import { h2Error, goawayFrame, headersFrame, initialWindowBytes, maxWindowBytes } from "./frames.js";
import type { Http2Stream } from "./http2-stream.js";

/** Bytes of control frames that may wait for a peer that does not read: some 1,800, more than a reset for each stream. */
const maxWaitingBytes = 256 * 1024;
/** Streams that a frame concerns, all of which cost as much as a request. */
export const streamsPerWork = 64;
/** Bytes of a control frame in addition to its content. */
const frameObjectBytes = 128;

export interface OutputOwner {
  readonly account: PeerAccount;
  /** The newest stream of the client. */
  readonly lastStreamId: number;
  /** True if nothing follows what is to be sent: the socket is ended behind it. */
  readonly isDone: boolean;
  spend(work: number): void;
  /** The socket has been ended, or what was written before does not leave. */
  onDone(): void;
  /** Too many frames of control wait, because the peer does not read what it asks for. */
  onUnread(): void;
}

/**
 * What one connection sends. All that a turn of the event loop makes it send is written at once, at the end of what was read or in the next tick,
 * and nothing more until the system has taken it: streams keep what they have until then, and frames of control overtake it.
 */
export class SessionOutput {
  readonly #socket: Socket;
  readonly #owner: OutputOwner;
  #control: Uint8Array[] = [];
  /** Charged bytes of control frames that wait for the end of a write. */
  #waitingBytes = 0;
  /** Charged bytes of the batch that is being written, without those that open streams are charged for. */
  #batchBytes = 0;
  /** Streams that have something to send, in turn. */
  readonly #queued = new Set<Http2Stream>();
  /** Streams that wait for the window of the connection. */
  #starved: Set<Http2Stream> | undefined;
  #inBatch: Http2Stream[] = [];
  #window = initialWindowBytes;
  #isScheduled = false;
  #isReading = false;
  #isWriting = false;
  #isEnded = false;
  /** Streams that come until GOAWAY is sent are answered. */
  #goaway: "none" | "due" | "sent" = "none";
  /** The peer's table has become smaller than ours may be, which the next header block must announce (RFC 7541 4.2). */
  #isTableUpdateDue = false;
  /** Answers to PING and SETTINGS among the frames of control. */
  #answerBytes = 0;
  #sentBytes = 0;
  readonly #onSent: (error?: Error | null) => void;

  constructor(socket: Socket, owner: OutputOwner) {
    this.#socket = socket;
    this.#owner = owner;
    this.#onSent = (error) => this.#sent(error);
  }

  /** Bytes sent so far, without the answers to PING and SETTINGS. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** True once the client cannot open streams any more. */
  get hasSentGoaway(): boolean {
    return this.#goaway === "sent";
  }

  /** True once nothing can be sent any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sends a frame before all that streams send. @param isAnswer to a PING or SETTINGS */
  control(frame: Uint8Array, isAnswer = false): void {
    if (this.#isEnded || this.#socket.destroyed) return;
    this.#control.push(frame);
    if (isAnswer) this.#answerBytes += frame.length;
    if (this.#isWriting) this.#chargeWaiting(frame.length + frameObjectBytes);
    else this.schedule();
  }

  #chargeWaiting(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#owner.account.charge(bytes);
    if (this.#waitingBytes > maxWaitingBytes) this.#owner.onUnread();
  }

  /** Sends the headers of an answer 1xx, which another follows. */
  informational(streamId: number, block: Uint8Array): void {
    this.control(headersFrame(streamId, block, this.#isTableUpdateDue));
    this.#isTableUpdateDue = false;
  }

  /** Sends GOAWAY, once; false if that has been done. */
  goaway(): void {
    if (this.#goaway !== "none") return;
    this.#goaway = "due";
    this.schedule();
  }

  /** Makes our next header block announce that our table is empty. */
  updateTable(): void {
    this.#isTableUpdateDue = true;
  }

  /** The stream has something to send. */
  queue(stream: Http2Stream): void {
    if (stream.isQueued) return;
    stream.isQueued = true;
    this.#queued.add(stream);
    this.schedule();
  }

  /** The stream has closed. What the batch holds of it, which is being written, is charged until that is done. */
  forget(stream: Http2Stream, framedBytes: number): void {
    const isHeld = this.#isWriting && stream.isInBatch;
    if (isHeld) this.#chargeBatch(streamBytes + stream.head.bytes);
    if (this.#isWriting) this.#batchBytes += framedBytes;
    else if (framedBytes > 0) this.#owner.account.release(framedBytes);
    if (!stream.isQueued) return;
    stream.isQueued = false;
    this.#queued.delete(stream);
    this.#starved?.delete(stream);
  }

  /** Opens the window of the connection; false if that is more than any window can have. */
  widen(bytes: number): boolean {
    this.#window += bytes;
    if (this.#window > maxWindowBytes) return false;
    if (this.#starved === undefined) return true;
    this.#owner.spend(this.#starved.size / streamsPerWork);
    for (const stream of this.#starved) this.#queued.add(stream);
    this.#starved = undefined;
    this.schedule();
    return true;
  }

  /** Begins to read: frames wait for `endReading`. */
  beginReading(): void {
    this.#isReading = true;
  }

  endReading(): void {
    this.#isReading = false;
    this.#flush();
  }

  schedule(): void {
    if (this.#isScheduled || this.#isReading || this.#isWriting) return;
    this.#isScheduled = true;
    process.nextTick(flush, this);
  }

  /** Called in the next tick only. */
  flush(): void {
    this.#isScheduled = false;
    if (!this.#isReading) this.#flush();
  }

  #flush(): void {
    if (this.#isWriting || this.#isEnded || this.#socket.destroyed) return;
    try {
      this.#fill();
    } catch (error) {
      // The batch is the process's: other connections must not send what this one could not.
      batch.clear();
      throw error;
    }
  }

  #fill(): void {
    this.#fillControl();
    if (this.#queued.size > 0) this.#fillStreams();
    if (batch.bytes > 0) {
      this.#isWriting = true;
      this.#sentBytes += batch.bytes - this.#answerBytes;
      this.#answerBytes = 0;
      const { copiedBytes } = batch;
      batch.writeTo(this.#socket, this.#onSent);
      // Most often, the system has taken all by now.
      if (this.#socket.writableLength > 0) this.#chargeBatch(copiedBytes);
    } else if (this.#owner.isDone) {
      this.#isEnded = true;
      this.#socket.end(() => this.#owner.onDone());
    }
  }

  #chargeBatch(bytes: number): void {
    this.#batchBytes += bytes;
    this.#owner.account.charge(bytes);
  }

  #fillControl(): void {
    if (this.#control.length > 0) {
      const control = this.#control;
      this.#control = [];
      if (this.#waitingBytes > 0) this.#owner.account.release(this.#waitingBytes);
      this.#waitingBytes = 0;
      for (const frame of control) batch.raw(frame);
    }
    if (this.#goaway !== "due") return;
    this.#goaway = "sent";
    batch.raw(goawayFrame(this.#owner.lastStreamId, h2Error.NO_ERROR, ""));
  }

  #fillStreams(): void {
    batch.isTableUpdateDue = this.#isTableUpdateDue;
    const queued = this.#queued;
    // A stream that is added again behind the others has another turn.
    for (const stream of queued) {
      if (batch.isFull) break;
      queued.delete(stream);
      this.#window -= stream.fill(this.#window);
      if (stream.isInBatch) this.#inBatch.push(stream);
      if (!stream.canSend) stream.isQueued = false;
      else if (this.#window > 0) queued.add(stream);
      else (this.#starved ??= new Set()).add(stream);
    }
    this.#isTableUpdateDue = batch.isTableUpdateDue;
  }

  #sent(error: Error | null | undefined): void {
    this.#isWriting = false;
    // The close that follows ends the streams.
    if (error !== undefined && error !== null) return;
    if (this.#batchBytes > 0) this.#owner.account.release(this.#batchBytes);
    this.#batchBytes = 0;
    if (this.#inBatch.length > 0) {
      const sent = this.#inBatch;
      this.#inBatch = [];
      for (const stream of sent) stream.sent();
    }
    if (!this.#isReading) this.#flush();
  }
}

function flush(output: SessionOutput): void {
  output.flush();
}
