import type { Method } from "./method.js";
import { ServerCall, type CallContext } from "./server-call.js";
import { RpcError, type RpcStatus } from "@bunting/http2/status";
import { answerBytesPerWork, type TransportStream } from "@bunting/http2";

export type Unary = Extract<Method, { kind: "unary" }>;

const ok: RpcStatus = { code: "OK", message: "" };

/** One request, one response: answered as soon as the request's message is complete, without waiting for its end. */
export class UnaryCall extends ServerCall {
  readonly #method: Unary;
  #hasMessage = false;

  constructor(context: CallContext, stream: TransportStream, method: Unary) {
    super(context, stream);
    this.#method = method;
    this.start();
  }

  protected override onMessage(message: Buffer): void {
    if (this.#hasMessage)
      throw new RpcError("UNIMPLEMENTED", "this method takes one message, but the client sent a second");
    this.#hasMessage = true;
    const answer = this.#method.invoke(message, this);
    if (answer instanceof Promise)
      answer.then(
        (frame) => this.#answer(frame),
        (error: unknown) => this.fail(error),
      );
    else this.#answer(answer);
  }

  protected override onRequestEnd(): void {
    if (!this.#hasMessage)
      throw new RpcError("UNIMPLEMENTED", "this method takes one message, but the client sent none");
  }

  /**
   * Headers go before the status, as flagd sends them: a status alone may be retried, and providers' policies name codes such as NOT_FOUND and UNKNOWN.
   * They would take seconds to answer. UNAVAILABLE is sent alone, since it is worth a retry.
   */
  override fail(error: unknown): void {
    if (this.#hasMessage && !(error instanceof RpcError && error.code === "UNAVAILABLE"))
      this.stream.respond();
    super.fail(error);
  }

  #answer(frame: Uint8Array): void {
    if (this.hasEnded) return;
    this.sent(frame);
    this.stream.respond();
    if (this.#method.isShared) this.stream.writeShared(frame);
    else {
      this.stream.write(frame);
      if (frame.length > answerBytesPerWork) this.stream.session.spend(frame.length / answerBytesPerWork);
    }
    this.end(ok);
  }
}
