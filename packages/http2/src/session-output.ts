import type { Socket } from "node:net";
import type { PeerAccount } from "./account.js";
import { ControlFrames } from "./control-frames.js";
import { batch } from "./frame-batch.js";
import { h2Error, goawayFrame, headersFrame } from "./frames.js";
import type { Http2Stream } from "./http2-stream.js";
import { PendingWrite } from "./pending-write.js";
import { SendingStreams } from "./sending-streams.js";
import { maxSegmentContentBytes, sharedSegments } from "./shared-segments.js";
import { takenWrites } from "./taken-writes.js";

/** A frame that changes this many streams costs as much work as a request. */
export const streamsPerWork = 64;

export interface OutputOwner {
  readonly account: PeerAccount;
  readonly isEncrypted: boolean;
  /** The newest stream of the client. */
  readonly lastStreamId: number;
  /** True if nothing more will be queued: the socket is ended after what waits. */
  readonly isDone: boolean;
  spend(work: number): void;
  /** All was sent, and the socket has been ended. */
  onDone(): void;
  /** Too many control frames wait, because the peer does not read the answers that it asks for. */
  onUnread(): void;
}

/**
 * The output of one connection. Everything that one turn of the event loop queues is written as one batch, after the read that caused it or in the
 * next tick. Only one write is under way: until the system has taken it, streams keep their content, and control frames go first in the next batch.
 */
export class SessionOutput {
  readonly #socket: Socket;
  readonly #owner: OutputOwner;
  readonly #control: ControlFrames;
  readonly #streams = new SendingStreams();
  readonly #write: PendingWrite;
  /** A batch is to be written: in the next tick, or after the read or the write that is under way. */
  #isDue = false;
  #isReading = false;
  #isEnded = false;
  /** Streams that the client opens before GOAWAY is sent are answered. */
  #goaway: "none" | "due" | "sent" = "none";
  #sentBytes = 0;
  /** The callback of writes, made when it is first needed. */
  #onSent: ((error?: Error | null) => void) | undefined;

  constructor(socket: Socket, owner: OutputOwner) {
    this.#socket = socket;
    this.#owner = owner;
    this.#control = new ControlFrames(owner.account);
    this.#write = new PendingWrite(owner.account);
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

  /** Sends a frame ahead of the streams. @param isAnswer it answers a PING or SETTINGS, and does not count as sent */
  control(frame: Uint8Array, isAnswer = false): void {
    if (this.#isEnded || this.#socket.destroyed) return;
    this.#control.add(frame, isAnswer);
    this.schedule();
    if (this.#write.isUnderWay && !this.#control.chargeWaiting(frame)) this.#owner.onUnread();
  }

  /** Sends the headers of an informational answer (1xx); the final answer follows. */
  informational(streamId: number, block: Uint8Array): void {
    this.control(headersFrame(streamId, block, this.#streams.isTableUpdateDue));
    this.#streams.isTableUpdateDue = false;
  }

  /** Sends GOAWAY, once. */
  goaway(): void {
    if (this.#goaway !== "none") return;
    this.#goaway = "due";
    this.schedule();
  }

  /** Makes our next header block announce that our table is empty. */
  updateTable(): void {
    this.#streams.isTableUpdateDue = true;
  }

  /** The stream has something to send. */
  queue(stream: Http2Stream): void {
    if (this.#streams.add(stream)) this.schedule();
  }

  /**
   * Writes shared content of a stream at once, in a segment that streams of other connections share: neither a batch nor an object is
   * made for it. False, without effect, if anything else is to be sent or being written, a window does not allow all of it, or no other
   * stream has sent the same lately.
   */
  sendNow(stream: Http2Stream, content: Uint8Array): boolean {
    const isIdle = !this.#isDue && !this.#isReading && !this.#write.isUnderWay && this.#socket.writable;
    if (!isIdle || content.length > maxSegmentContentBytes || !this.#streams.mayPass(content.length))
      return false;
    const segment = sharedSegments.get(content, stream.id, 0, content.length);
    if (segment === undefined) return false;
    this.#streams.pass(content.length);
    this.#sentBytes += segment.bytes.length;
    this.#write.beginSole(stream);
    this.#socket.write(segment.bytes, this.#callback);
    if (!this.#expectSent()) this.#write.hold(stream, segment);
    return true;
  }

  /** Undefined without TLS: a callback costs node a tick and two objects, and the system mostly takes a plain write at once. TLS never does. */
  get #callback(): ((error?: Error | null) => void) | undefined {
    return this.#owner.isEncrypted ? (this.#onSent ??= (error) => this.sent(error)) : undefined;
  }

  /** Has `sent` called, never before the next tick, once the system has taken what was just written. True if it has already. */
  #expectSent(): boolean {
    const socket = this.#socket;
    const isTaken = socket.writableLength === 0;
    if (this.#owner.isEncrypted) return isTaken;
    if (isTaken && socket.errored === null) takenWrites.add(this);
    // The callback of this empty write comes once the bytes before it were taken.
    else socket.write(nothing, (this.#onSent ??= (error) => this.sent(error)));
    return isTaken;
  }

  /** The stream has closed. Its part of the batch that is being written stays charged until the system has taken the batch. */
  forget(stream: Http2Stream, framedBytes: number): void {
    this.#write.forget(stream, framedBytes);
    this.#streams.delete(stream);
  }

  /** Opens the window of the connection; false if that is more than any window can have. */
  widen(bytes: number): boolean {
    if (!this.#streams.widen(bytes)) return false;
    const starved = this.#streams.requeueStarved();
    if (starved === 0) return true;
    this.#owner.spend(starved / streamsPerWork);
    this.schedule();
    return true;
  }

  /** Begins to read: frames wait for `endReading`. */
  beginReading(): void {
    this.#isReading = true;
  }

  endReading(): void {
    this.#isReading = false;
    this.flush();
  }

  schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (!this.#isReading && !this.#write.isUnderWay) process.nextTick(flush, this);
  }

  /** Writes what is due, unless bytes are being read or written. */
  flush(): void {
    if (!this.#isDue || this.#isReading || this.#write.isUnderWay) return;
    this.#isDue = false;
    if (this.#isEnded || this.#socket.destroyed) return;
    try {
      this.#fill();
    } catch (error) {
      // All connections share the batch: none of them may send what this one has put into it.
      batch.clear();
      throw error;
    }
  }

  #fill(): void {
    const answerBytes = this.#control.fill();
    if (this.#goaway === "due") {
      this.#goaway = "sent";
      batch.raw(goawayFrame(this.#owner.lastStreamId, h2Error.NO_ERROR, ""));
    }
    const isMore = this.#streams.fill(this.#write);
    this.#isDue = isMore || this.#owner.isDone;
    if (batch.bytes > 0) {
      this.#sentBytes += batch.bytes - answerBytes;
      this.#write.begin();
      const { copiedBytes, segment, holder } = batch;
      batch.writeTo(this.#socket, this.#callback);
      if (!this.#expectSent()) {
        this.#write.charge(copiedBytes);
        if (segment !== undefined && holder !== undefined) this.#write.hold(holder, segment);
      }
      // Streams that have more always fill the batch, so with an empty batch only the end is due.
    } else if (this.#isDue) {
      this.#isEnded = true;
      this.#socket.end(() => this.#owner.onDone());
    }
  }

  /** The system has taken what was written, or the write has failed. */
  sent(error?: Error | null): void {
    if (error !== undefined && error !== null) {
      this.#write.fail();
      return;
    }
    this.#write.end();
    this.flush();
  }
}

const nothing = new Uint8Array(0);

function flush(output: SessionOutput): void {
  output.flush();
}
