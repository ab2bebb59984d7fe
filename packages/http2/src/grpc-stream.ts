import type { RpcStatus } from "./status.js";
import type { CloseListener, StreamReceiver, TransportStream, WriteListener } from "./transport.js";
import { addCloseListener, callCloseListeners, type CloseListeners } from "./close-listeners.js";
import { encodeHeaders, sharedHeaderBlock } from "./hpack/header-encoder.js";
import { Http2Stream, type StreamOwner } from "./http2-stream.js";
import type { RequestHead } from "./request-head.js";
import { statusHeaders } from "./status-headers.js";

type Headers = Readonly<Record<string, string>>;

/** A request of gRPC. */
export class GrpcStream extends Http2Stream implements TransportStream {
  #hasResponded = false;
  #receiver: StreamReceiver | undefined;
  #closeListeners: CloseListeners;

  constructor(session: StreamOwner, id: number, head: RequestHead, hasEnded: boolean) {
    // Content waits for `receive`.
    super(session, id, head, hasEnded, true);
  }

  get path(): string {
    return this.head.path;
  }

  get hasResponded(): boolean {
    return this.#hasResponded;
  }

  admit(): void {
    this.session.admit(this);
  }

  header(name: string): string | undefined {
    return this.head.text(name);
  }

  respond(headers?: Headers): void {
    if (this.#hasResponded || !this.isOpen) return;
    this.#hasResponded = true;
    this.sendHeaders(this.#responseBlock(headers));
  }

  write(frame: Uint8Array, onWritten?: WriteListener): void {
    this.respond();
    this.send(frame, "stream", onWritten);
  }

  writeShared(frame: Uint8Array, onWritten?: WriteListener): void {
    this.respond();
    this.sendShared(frame, onWritten);
  }

  end(status: RpcStatus): void {
    if (this.isEnding || !this.isOpen) return;
    const trailers = statusHeaders(status);
    // Only the trailers of a plain OK are one object for all streams, whose block is worth keeping.
    if (this.#hasResponded)
      this.sendEnd((status.code === "OK" ? sharedHeaderBlock : encodeHeaders)(trailers));
    else {
      this.#hasResponded = true;
      this.sendHeaders(this.#responseBlock(trailers));
      this.sendEnd(undefined);
    }
    this.resumeReading();
  }

  receive(receiver: StreamReceiver): void {
    this.#receiver = receiver;
    if (!this.isOpen) receiver.onClosed();
    this.resumeReading();
  }

  onClose(listener: CloseListener): void {
    if (this.isOpen) this.#closeListeners = addCloseListener(this.#closeListeners, listener);
    else callCloseListeners(listener);
  }

  override onData(piece: Buffer): void {
    this.#receiver?.onData(piece);
  }

  override onEnd(): void {
    this.#receiver?.onEnd();
  }

  protected override onClosed(): void {
    this.#receiver?.onClosed();
    const listeners = this.#closeListeners;
    this.#closeListeners = undefined;
    callCloseListeners(listeners);
  }

  #responseBlock(added: Headers | undefined): Uint8Array {
    const base = this.session.grpcHeaders.responseHeaders(this.head.fields);
    return added === undefined ? sharedHeaderBlock(base) : encodeHeaders({ ...base, ...added });
  }
}
