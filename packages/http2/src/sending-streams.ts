import { batch } from "./frame-batch.js";
import { initialWindowBytes, maxWindowBytes } from "./frames.js";
import type { Http2Stream } from "./http2-stream.js";
import type { PendingWrite } from "./pending-write.js";

/** The streams of a connection that have something to send: they take turns, within the connection's window. */
export class SendingStreams {
  /** Streams in the order of their turns; undefined without any, as mostly. */
  #queued: Set<Http2Stream> | undefined;
  /** Streams that wait for the window of the connection. */
  #starved: Set<Http2Stream> | undefined;
  #window = initialWindowBytes;
  /** The peer's table has become smaller than ours may be, which the next header block must announce (RFC 7541 4.2). */
  isTableUpdateDue = false;

  /** Adds a stream; false if it has its turn already. */
  add(stream: Http2Stream): boolean {
    if (stream.isQueued) return false;
    stream.isQueued = true;
    (this.#queued ??= new Set()).add(stream);
    return true;
  }

  delete(stream: Http2Stream): void {
    if (!stream.isQueued) return;
    stream.isQueued = false;
    this.#queued?.delete(stream);
    this.#starved?.delete(stream);
  }

  /** Opens the window of the connection; false if that is more than any window can have. */
  widen(bytes: number): boolean {
    this.#window += bytes;
    return this.#window <= maxWindowBytes;
  }

  /** True if the window of the connection allows content of this length. */
  mayPass(bytes: number): boolean {
    return bytes <= this.#window;
  }

  /** Content of this length is sent at once. */
  pass(bytes: number): void {
    this.#window -= bytes;
  }

  /** Gives their turns back to the streams that waited for the window. Returns how many they are. */
  requeueStarved(): number {
    const starved = this.#starved;
    if (starved === undefined) return 0;
    this.#starved = undefined;
    for (const stream of starved) (this.#queued ??= new Set()).add(stream);
    return starved.size;
  }

  /** Fills the batch in turns, and adds the streams that have a part in it to the write. True if more is to be sent behind it. */
  fill(write: PendingWrite): boolean {
    const queued = this.#queued;
    if (queued === undefined) return false;
    batch.isTableUpdateDue = this.isTableUpdateDue;
    // A stream that is added again behind the others has another turn.
    for (const stream of queued) {
      if (batch.isFull) break;
      const isAlone = queued.size === 1;
      queued.delete(stream);
      this.#window -= stream.fill(this.#window, isAlone);
      if (stream.isInBatch) write.add(stream);
      if (!stream.canSend) stream.isQueued = false;
      else if (this.#window > 0) queued.add(stream);
      else (this.#starved ??= new Set()).add(stream);
    }
    this.isTableUpdateDue = batch.isTableUpdateDue;
    if (queued.size === 0) this.#queued = undefined;
    return queued.size > 0;
  }
}
