import { encodeHeaders, type OutgoingHeaders } from "./hpack/header-encoder.js";
import { Http2Stream, type StreamOwner } from "./http2-stream.js";
import type { RequestHead } from "./request-head.js";

/** Bytes of an open request: its stream, and node's objects where it has them. */
const plainBytes = 8 * 1024;

/** A request that is not gRPC. None takes long, so a request that does not arrive, or its answer, is a stall too. */
export abstract class PlainStream extends Http2Stream {
  #since: number;

  constructor(session: StreamOwner, id: number, head: RequestHead, hasEnded: boolean) {
    super(session, id, head, hasEnded, false);
    this.#since = session.stallClock.tick;
    session.account.charge(plainBytes + head.bytes);
  }

  override isStalledSince(tick: number): boolean {
    return this.#since <= tick;
  }

  /** Something has happened that is no stall. */
  protected proceed(): void {
    this.#since = this.session.stallClock.tick;
  }

  protected override onClosed(): void {
    this.session.account.release(plainBytes + this.head.bytes);
  }
}

/** A request that the engine answers itself, without its content. */
export class RefusedStream extends PlainStream {
  /** Answers the request, once. */
  answer(headers: OutgoingHeaders, text: string): void {
    if (!this.isOpen) return;
    this.sendHeaders(encodeHeaders(headers));
    if (text !== "") this.send(Buffer.from(text), "none");
    this.sendEnd(undefined);
  }

  override onData(): void {
    // Dropped.
  }

  override onEnd(): void {
    // The answer does not depend on it.
  }
}
