import { encodeHeaders, type OutgoingHeaders } from "./hpack/header-encoder.js";
import { Http2Stream, type StreamOwner } from "./http2-stream.js";
import type { RequestHead } from "./request-head.js";
import type { ResetCode } from "./transport.js";

/** Bytes of an open request: its stream, and node's objects where it has them. */
const plainBytes = 8 * 1024;
/** Time to end a request that was answered before. Clients such as curl 7.88 and httpx lose the answer to a reset that comes while they send. */
const lingerMs = 2_000;

/** A request that is not gRPC. None takes long, so a request that does not arrive, or its answer, is a stall too. */
export abstract class PlainStream extends Http2Stream {
  #since: number;
  /** Set while the answer was sent and the request goes on; its content is dropped. */
  #lingering: NodeJS.Timeout | undefined;

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

  /** An answer that was sent is whole: its client must not try again. */
  override reset(code: ResetCode): void {
    if (this.#lingering === undefined) super.reset(code);
    else this.closeLeftOpen();
  }

  protected override onLeftOpen(): void {
    // A tunnel that is refused has no content to send, and what is not charged must not stay.
    if (this.head.text(":method") === "CONNECT" || !this.session.account.isCounted) super.onLeftOpen();
    else this.#lingering ??= setTimeout(() => this.closeLeftOpen(), lingerMs);
  }

  override onEnd(): void {
    if (this.#lingering !== undefined) this.close();
  }

  protected override onClosed(): void {
    clearTimeout(this.#lingering);
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
    // Dropped: the answer does not depend on it.
  }
}
