import { streamBytes, type PeerAccount } from "./account.js";
import type { Http2Stream } from "./http2-stream.js";
import type { FrameHolder } from "./held-frame.js";
import type { Segment } from "./shared-segments.js";

/** What a connection has written and the system has not taken yet: at most one batch, or one segment. */
export class PendingWrite {
  readonly #account: PeerAccount;
  #isUnderWay = false;
  /** Charged bytes of the batch, without those that open streams are charged for. */
  #chargedBytes = 0;
  #streams: Http2Stream[] | undefined;
  /** The stream of a segment that was written without a batch. */
  #sole: Http2Stream | undefined;
  /** The segment that the system has not taken at once, and who holds it. */
  #segment: Segment | undefined;
  #holder: FrameHolder | undefined;

  constructor(account: PeerAccount) {
    this.#account = account;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Adds a stream to the batch that is being made. */
  add(stream: Http2Stream): void {
    (this.#streams ??= []).push(stream);
  }

  begin(): void {
    this.#isUnderWay = true;
  }

  /** Begins to write a segment of this stream. */
  beginSole(stream: Http2Stream): void {
    this.#isUnderWay = true;
    this.#sole = stream;
  }

  /** The system has not taken the segment at once: one of those who hold it is charged. */
  hold(holder: FrameHolder, segment: Segment): void {
    segment.holders.hold(holder);
    this.#segment = segment;
    this.#holder = holder;
  }

  charge(bytes: number): void {
    this.#chargedBytes += bytes;
    this.#account.charge(bytes);
  }

  /**
   * A stream has closed: what the batch holds of it stays charged until the system has taken the batch.
   *
   * @param framedBytes charged bytes of its content in the batch
   */
  forget(stream: Http2Stream, framedBytes: number): void {
    if (!this.#isUnderWay) {
      if (framedBytes > 0) this.#account.release(framedBytes);
      return;
    }
    this.#chargedBytes += framedBytes;
    if (stream.isInBatch) this.charge(streamBytes + stream.head.bytes);
  }

  /** The connection has failed: the close that follows ends the streams. */
  fail(): void {
    this.#isUnderWay = false;
    this.#takeSole();
  }

  /** The system has taken the batch. */
  end(): void {
    this.#isUnderWay = false;
    if (this.#chargedBytes > 0) this.#account.release(this.#chargedBytes);
    this.#chargedBytes = 0;
    this.#takeSole()?.sent();
    const streams = this.#streams;
    if (streams === undefined) return;
    this.#streams = undefined;
    for (const stream of streams) stream.sent();
  }

  /** The stream whose segment was written. */
  #takeSole(): Http2Stream | undefined {
    const sole = this.#sole;
    this.#sole = undefined;
    if (this.#holder !== undefined) this.#segment?.holders.release(this.#holder);
    this.#segment = undefined;
    this.#holder = undefined;
    return sole;
  }
}
