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

/** Streams that a frame concerns, all of which cost as much as a request. */
export const streamsPerWork = 64;

export interface OutputOwner {
  readonly account: PeerAccount;
  readonly isEncrypted: boolean;
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
  readonly #control: ControlFrames;
  readonly #streams = new SendingStreams();
  readonly #write: PendingWrite;
  /** There is something to write: in the next tick, or, if bytes are being read or written, after that. */
  #isDue = false;
  #isReading = false;
  #isEnded = false;
  /** Streams that come until GOAWAY is sent are answered. */
  #goaway: "none" | "due" | "sent" = "none";
  #sentBytes = 0;
  /** Made when the system first takes less than all at once. */
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

  /** Sends a frame before all that streams send. @param isAnswer to a PING or SETTINGS */
  control(frame: Uint8Array, isAnswer = false): void {
    if (this.#isEnded || this.#socket.destroyed) return;
    this.#control.add(frame, isAnswer);
    this.schedule();
    if (this.#write.isUnderWay && !this.#control.chargeWaiting(frame)) this.#owner.onUnread();
  }

  /** Sends the headers of an answer 1xx, which another follows. */
  informational(streamId: number, block: Uint8Array): void {
    this.control(headersFrame(streamId, block, this.#streams.isTableUpdateDue));
    this.#streams.isTableUpdateDue = false;
  }

  /** Sends GOAWAY, once; false if that has been done. */
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
    if (!this.#isTaken()) this.#write.hold(stream, segment);
    return true;
  }

  /** A callback costs node a tick and two objects. Most often, the system takes all at once; TLS never does. */
  get #callback(): ((error?: Error | null) => void) | undefined {
    return this.#owner.isEncrypted ? (this.#onSent ??= (error) => this.sent(error)) : undefined;
  }

  /** True if the system has taken what was just written. `sent` is called in any case, later. */
  #isTaken(): boolean {
    const socket = this.#socket;
    const isTaken = socket.writableLength === 0;
    if (this.#owner.isEncrypted) return isTaken;
    if (isTaken && socket.errored === null) takenWrites.add(this);
    // Called back once what is before it was taken.
    else socket.write(nothing, (this.#onSent ??= (error) => this.sent(error)));
    return isTaken;
  }

  /** The stream has closed. What the batch holds of it, which is being written, is charged until that is done. */
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
      // The batch is the process's: other connections must not send what this one could not.
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
      if (!this.#isTaken()) {
        this.#write.charge(copiedBytes);
        if (segment !== undefined && holder !== undefined) this.#write.hold(holder, segment);
      }
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
