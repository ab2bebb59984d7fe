import type { Method, RequestListener, ResponseStream } from "./method.js";
import { ServerCall, type CallContext } from "./server-call.js";
import { RpcError } from "@bunting/http2/status";
import type { CloseListener, TransportStream, WriteListener } from "@bunting/http2";

/** The sending half of a streaming call, which the handler uses until it ends the call or the client goes away. */
abstract class StreamingCall extends ServerCall implements ResponseStream {
  sendHeaders(headers?: Readonly<Record<string, string>>): void {
    this.stream.respond(headers);
  }

  write(frame: Uint8Array, onWritten?: WriteListener): void {
    this.sent(frame);
    this.stream.write(frame, onWritten);
  }

  writeShared(frame: Uint8Array, onWritten?: WriteListener): void {
    this.sent(frame);
    this.stream.writeShared(frame, onWritten);
  }

  onClose(listener: CloseListener): void {
    this.stream.onClose(listener);
  }
}

type ServerStreaming = Extract<Method, { kind: "server-streaming" }>;

/** One request, then response frames until the handler ends the call. */
export class ServerStreamingCall extends StreamingCall {
  readonly #method: ServerStreaming;
  #hasMessage = false;
  #isCounted = false;

  constructor(context: CallContext, stream: TransportStream, method: ServerStreaming) {
    super(context, stream);
    this.#method = method;
    this.start();
  }

  protected override onMessage(message: Buffer): void {
    if (this.#hasMessage)
      throw new RpcError("UNIMPLEMENTED", "this method takes one message, but the client sent a second");
    this.#hasMessage = true;
    this.stream.session.account.beginStream();
    this.#isCounted = true;
    this.#method.invoke(message, this);
  }

  protected override onFinished(): void {
    if (this.#isCounted) this.stream.session.account.endStream();
  }

  protected override onRequestEnd(): void {
    if (!this.#hasMessage)
      throw new RpcError("UNIMPLEMENTED", "this method takes one message, but the client sent none");
  }
}

type BidiStreaming = Extract<Method, { kind: "bidi-streaming" }>;

/** Messages in both directions. */
export class BidiStreamingCall extends StreamingCall {
  readonly #listener: RequestListener<Uint8Array> | undefined;

  constructor(context: CallContext, stream: TransportStream, method: BidiStreaming) {
    super(context, stream);
    this.start();
    if (this.hasEnded) return;
    try {
      this.#listener = method.invoke(this);
    } catch (error) {
      this.fail(error);
    }
  }

  protected override onMessage(message: Buffer): void {
    this.#listener?.onMessage(message);
  }

  protected override onRequestEnd(): void {
    this.#listener?.onEnd();
  }
}
