import { streamBytes, type PeerAccount } from "./account.js";
import type { Http2Stream } from "./http2-stream.js";

/** What a connection has written and the system has not taken yet: at most one batch. */
export class PendingWrite {
  readonly #account: PeerAccount;
  #isUnderWay = false;
  /** Charged bytes of the batch, without those that open streams are charged for. */
  #chargedBytes = 0;
  #streams: Http2Stream[] = [];

  constructor(account: PeerAccount) {
    this.#account = account;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Adds a stream to the batch that is being made. */
  add(stream: Http2Stream): void {
    this.#streams.push(stream);
  }

  begin(): void {
    this.#isUnderWay = true;
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
  }

  /** The system has taken the batch. */
  end(): void {
    this.#isUnderWay = false;
    if (this.#chargedBytes > 0) this.#account.release(this.#chargedBytes);
    this.#chargedBytes = 0;
    if (this.#streams.length === 0) return;
    const streams = this.#streams;
    this.#streams = [];
    for (const stream of streams) stream.sent();
  }
}
