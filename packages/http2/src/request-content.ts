import { GatheredBytes } from "@bunting/runtime";
import type { PeerAccount } from "./account.js";
import type { ErrorName } from "./frames.js";
import { IncomingWindow } from "./incoming-window.js";

/** Size of the pieces in which buffered content is delivered. */
const bufferedPieceBytes = 512;

/** The stream whose content it is. */
export interface ContentReceiver {
  readonly id: number;
  readonly hasClosed: boolean;
  readonly head: { readonly contentLength: number };
  readonly session: {
    readonly account: PeerAccount;
    sendWindowUpdate(streamId: number, bytes: number): void;
  };
  onData(piece: Buffer): void;
  onEnd(): void;
}

/**
 * The content of a request: bytes within the stream's receive window, then the end.
 *
 * Invariants:
 * - The request ends in steps: `#hasEnded` (END_STREAM has arrived), `#isEndDelivered` (after all content).
 * - While paused, content goes to `#buffered`, charged as `#bufferedBytes`. The window bounds it: credit comes on delivery.
 * - After `close`, nothing is delivered or charged.
 */
export class RequestContent {
  readonly #receiver: ContentReceiver;
  /** Undefined once the request has ended. */
  #window: IncomingWindow | undefined;
  #receivedBytes = 0;
  #hasEnded: boolean;
  #isEndDelivered = false;
  #isPaused: boolean;
  #buffered: GatheredBytes | undefined;
  #bufferedBytes = 0;

  constructor(receiver: ContentReceiver, hasEnded: boolean, isPaused: boolean) {
    this.#receiver = receiver;
    this.#hasEnded = hasEnded;
    this.#isPaused = isPaused;
    if (!hasEnded) this.#window = new IncomingWindow();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** Delivers what was buffered meanwhile, later. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // In the next tick: the caller may not be ready for content.
    if (this.#buffered !== undefined || this.#hasEnded) process.nextTick(deliverBuffered, this);
  }

  /** Receives a piece of content. Returns the error that the stream must end with, if there is one. */
  receive(piece: Buffer, flowBytes: number, isLast: boolean): ErrorName | undefined {
    if (this.#hasEnded) return "STREAM_CLOSED";
    if (this.#window?.take(flowBytes) === false) return "FLOW_CONTROL_ERROR";
    this.#receivedBytes += piece.length;
    if (!this.#isOfLength(isLast)) return "PROTOCOL_ERROR";
    if (isLast) this.#hasEnded = true;
    this.#credit(flowBytes - piece.length);
    if (piece.length > 0) {
      if (this.#isPaused || this.#buffered !== undefined) this.#buffer(piece);
      else {
        this.#receiver.onData(piece);
        this.#credit(piece.length);
      }
    }
    if (isLast) this.deliverEnd();
    return undefined;
  }

  receiveTrailers(): ErrorName | undefined {
    if (this.#hasEnded) return "STREAM_CLOSED";
    if (!this.#isOfLength(true)) return "PROTOCOL_ERROR";
    this.#hasEnded = true;
    this.deliverEnd();
    return undefined;
  }

  /** Delivers the end of the request once it has arrived and all content was delivered. */
  deliverEnd(): void {
    if (!this.#hasEnded || this.#isEndDelivered || this.#receiver.hasClosed) return;
    if (this.#isPaused || this.#buffered !== undefined) return;
    this.#isEndDelivered = true;
    this.#receiver.onEnd();
  }

  /** Delivers buffered content until reading is paused again. Called by `resume` only, in the next tick. */
  deliverBuffered(): void {
    const bytes = this.#buffered?.take();
    if (this.#buffered === undefined || bytes === undefined) {
      this.deliverEnd();
      return;
    }
    // In pieces, so that the receiver can pause reading after each. Nothing arrives meanwhile.
    let at = 0;
    while (at < bytes.length && !this.#isPaused && !this.#receiver.hasClosed) {
      const piece = bytes.subarray(at, at + bufferedPieceBytes);
      at += piece.length;
      this.#receiver.onData(piece);
      this.#credit(piece.length);
    }
    if (this.#receiver.hasClosed) return;
    if (at < bytes.length) this.#buffered.push(bytes.subarray(at));
    this.#charge();
    if (this.#buffered.length > 0) return;
    this.#buffered = undefined;
    this.deliverEnd();
  }

  /** The stream has closed. */
  close(): void {
    this.#buffered = undefined;
    this.#charge();
  }

  #isOfLength(isLast: boolean): boolean {
    const { contentLength } = this.#receiver.head;
    if (contentLength < 0) return true;
    return isLast ? this.#receivedBytes === contentLength : this.#receivedBytes <= contentLength;
  }

  #buffer(piece: Buffer): void {
    (this.#buffered ??= new GatheredBytes()).push(piece);
    this.#charge();
  }

  #charge(): void {
    const { account } = this.#receiver.session;
    const bytes = this.#buffered?.allocatedBytes ?? 0;
    const change = bytes - this.#bufferedBytes;
    this.#bufferedBytes = bytes;
    if (change > 0) account.charge(change);
    else if (change < 0) account.release(-change);
  }

  /** Gives so many bytes back to the window of the client. */
  #credit(bytes: number): void {
    if (this.#hasEnded) this.#window = undefined;
    const openedBytes = this.#window?.credit(bytes) ?? 0;
    if (openedBytes === 0 || this.#receiver.hasClosed) return;
    this.#receiver.session.sendWindowUpdate(this.#receiver.id, openedBytes);
  }
}

function deliverBuffered(content: RequestContent): void {
  content.deliverBuffered();
}
