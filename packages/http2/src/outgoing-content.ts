import { batch } from "./frame-batch.js";
import { maxFrameBytes, maxWindowBytes } from "./frames.js";
import { callWriteListener, releaseUnframed, streamEnded, type Charge, type Outgoing } from "./outgoing.js";
import { sharedSegments } from "./shared-segments.js";
import type { PeerAccount } from "./account.js";
import type { WriteListener } from "./transport.js";

/** Bytes that a stream sends before another stream has its turn. */
const bytesPerTurn = 64 * 1024;
/** Less is copied into the batch with its head anyway. */
const leastSegmentBytes = 2 * 1024;

/** The connection, as the content of its streams sees it. */
export interface ContentSession {
  readonly account: PeerAccount;
  /** Counts up with time, for the stall watch. */
  readonly stallClock: { readonly tick: number };
}

/**
 * The content of an answer, which waits here until the session makes a batch: flow control decides then.
 *
 *     #oldest ──(#inBatch pieces, framed whole)──> #unsent (perhaps framed in part) ──> #newest      one linked list
 *
 * Invariants:
 * - `fill` puts frames into the batch and moves `#unsent`; undefined: all is framed. `sent` moves `#oldest`: the system has
 *   taken the batch, so its pieces are released, and their callbacks called, once each.
 * - Shared content may pass by the list, if nothing is in it: `#onPassed` is set until `sent`.
 * - `#pendingSince` is the tick since which the peer has taken nothing of what is pending; -1 if nothing is pending.
 */
export class OutgoingContent {
  readonly session: ContentSession;
  /** Bytes that the peer still takes; below 0 after it has made its windows smaller. */
  #window: number;
  #oldest: Outgoing | undefined;
  #unsent: Outgoing | undefined;
  #newest: Outgoing | undefined;
  #inBatch = 0;
  /** Listens for content that is being written although it was never in the list; undefined if there is none. */
  #onPassed: WriteListener | undefined;
  #pendingSince = -1;

  constructor(session: ContentSession, windowBytes: number) {
    this.session = session;
    this.#window = windowBytes;
  }

  /** True once all that was added is in a batch, or sent. */
  get isFramed(): boolean {
    return this.#unsent === undefined;
  }

  /** True if content waits that the window of the stream allows. */
  get canSend(): boolean {
    return this.#unsent !== undefined && this.#window > 0;
  }

  /** True if `sent` must be called after the batch. */
  get isInBatch(): boolean {
    return this.#inBatch > 0 || this.#onPassed !== undefined;
  }

  isStalledSince(tick: number): boolean {
    return this.#pendingSince >= 0 && this.#pendingSince <= tick;
  }

  add(bytes: Uint8Array, charge: Charge, onWritten: WriteListener | undefined): void {
    if (charge === "stream") this.session.account.charge(bytes.length);
    const added: Outgoing = { bytes, charge, onWritten, framedBytes: 0, next: undefined };
    if (this.#newest !== undefined) this.#newest.next = added;
    this.#newest = added;
    this.#oldest ??= added;
    this.#unsent ??= added;
    this.markPending();
  }

  /** True if content of this length could be written at once: none waits, and the window allows it. */
  mayPass(bytes: number): boolean {
    return this.#oldest === undefined && bytes <= this.#window;
  }

  /** Content of this length is being written at once, and `sent` is called after it. */
  pass(bytes: number, onWritten: WriteListener | undefined): void {
    this.#window -= bytes;
    this.#onPassed = onWritten ?? ignore;
    this.markPending();
  }

  /** The peer has something to take from now on, if it had not already. */
  markPending(): void {
    if (this.#pendingSince < 0) this.#pendingSince = this.session.stallClock.tick;
  }

  /** Changes the window by so many bytes. False if it is larger now than RFC 9113 allows. */
  widen(bytes: number): boolean {
    this.#window += bytes;
    return this.#window <= maxWindowBytes;
  }

  /**
   * Puts as much into the batch as the windows allow, and returns the bytes.
   *
   * @param endsStream the last frame ends the stream
   * @param isAlone no other stream of the connection has anything to send
   */
  fill(streamId: number, connectionWindow: number, endsStream: boolean, isAlone: boolean): number {
    const maxBytes = Math.min(connectionWindow, this.#window, bytesPerTurn);
    let usedBytes = isAlone && batch.bytes === 0 ? this.#fillSegment(streamId, maxBytes) : 0;
    while (this.#unsent !== undefined) {
      const sending = this.#unsent;
      const start = sending.framedBytes;
      const length = Math.min(sending.bytes.length - start, maxFrameBytes, maxBytes - usedBytes);
      const isWhole = start + length === sending.bytes.length;
      if (length <= 0 && !isWhole) break;
      const isLast = isWhole && sending.next === undefined && endsStream;
      if (length > 0 || isLast) batch.data(streamId, sending.bytes, start, start + length, isLast);
      usedBytes += length;
      sending.framedBytes += length;
      if (!isWhole) continue;
      this.#unsent = sending.next;
      this.#inBatch++;
    }
    this.#window -= usedBytes;
    // A peer that takes a large message slowly is not stalled.
    if (usedBytes > 0 && this.#pendingSince >= 0) this.#pendingSince = this.session.stallClock.tick;
    return usedBytes;
  }

  /** Puts a part of shared content into the batch, in a segment that streams of other connections share. Returns its bytes. */
  #fillSegment(streamId: number, maxBytes: number): number {
    const sending = this.#unsent;
    if (sending?.charge !== "none") return 0;
    const start = sending.framedBytes;
    const length = Math.min(sending.bytes.length - start, maxBytes);
    const segment =
      length < leastSegmentBytes
        ? undefined
        : sharedSegments.get(sending.bytes, streamId, start, start + length);
    if (segment === undefined) return 0;
    batch.share(segment, this);
    sending.framedBytes += length;
    return length;
  }

  /**
   * The system has taken the batch.
   *
   * @param hasEnded the end of the answer was in it
   * @param isEndPending the end of the answer waits behind the content
   */
  sent(hasEnded: boolean, isEndPending: boolean): void {
    const { account, stallClock } = this.session;
    let done = this.#oldest;
    let rest = done;
    for (; this.#inBatch > 0 && rest !== undefined; this.#inBatch--) {
      if (rest.charge === "stream") account.release(rest.bytes.length);
      rest = rest.next;
    }
    this.#oldest = rest;
    if (rest === undefined) this.#newest = undefined;
    const onPassed = this.#onPassed;
    this.#onPassed = undefined;
    if (done !== rest || hasEnded || onPassed !== undefined) {
      const isPending = rest !== undefined || isEndPending;
      this.#pendingSince = isPending ? stallClock.tick : -1;
    }
    callWriteListener(onPassed);
    for (; done !== undefined && done !== rest; done = done.next) callWriteListener(done.onWritten);
  }

  /**
   * Drops everything, because the stream has closed, and calls back with an error for what was not sent.
   *
   * @param remove called before that, with the charged bytes of content in a batch
   */
  close(remove: (framedBytes: number) => void): void {
    let pending = this.#oldest;
    this.#oldest = undefined;
    this.#unsent = undefined;
    this.#newest = undefined;
    remove(releaseUnframed(pending, this.session.account));
    const onPassed = this.#onPassed;
    this.#onPassed = undefined;
    let error: Error | undefined;
    if (onPassed !== undefined) callWriteListener(onPassed, (error ??= streamEnded()));
    for (; pending !== undefined; pending = pending.next)
      if (pending.onWritten !== undefined) callWriteListener(pending.onWritten, (error ??= streamEnded()));
  }
}

function ignore(): void {
  // The sender has given no callback.
}
