import { type Clock, type Logger, Overdue, systemClock } from "@bunting/runtime";
import type { MalformedRules } from "./message-deframer.js";
import type { Method } from "./method.js";
import type { CallContext, CallCounts, ServerCall } from "./server-call.js";
import { framePrefixBytes } from "./framing.js";
import { BidiStreamingCall, ServerStreamingCall } from "./streaming-call.js";
import type { TransportHandler, TransportSession, TransportStream } from "@bunting/http2";
import { UnaryCall } from "./unary-call.js";

export interface MessageRules {
  /** Largest request message in bytes, also after decompression; default 4 MiB, as usual in gRPC. */
  readonly maxMessageBytes?: number;
  /**
   * Time for the first message of a call, and for each message from its first byte on; up to twice as long.
   * Default 10 s.
   */
  readonly messageTimeoutMs?: number;
  /** Which server's answers to malformed requests are followed: those of grpc-go (default), or of connect-go. See MalformedRules. */
  readonly malformed?: MalformedRules;
}

export interface GrpcServerOptions {
  readonly methods: readonly Method[];
  readonly logger: Logger;
  readonly messages?: MessageRules;
  readonly clock?: Clock;
  readonly onSession?: ((session: TransportSession) => void) | undefined;
  readonly counts?: CallCounts | undefined;
}

/** Routes each request stream to the method of its path, as a call. */
export class GrpcServer implements TransportHandler {
  readonly #methods: ReadonlyMap<string, { readonly method: Method; readonly context: CallContext }>;
  readonly #onSession: ((session: TransportSession) => void) | undefined;
  readonly #unfinished: Overdue<ServerCall>;
  #sessionCount = 0;

  constructor(options: GrpcServerOptions) {
    this.#onSession = options.onSession;
    const { clock = systemClock, logger, counts } = options;
    const {
      maxMessageBytes = 4 * 1024 * 1024,
      messageTimeoutMs = 10_000,
      malformed = "grpc-go",
    } = options.messages ?? {};
    this.#unfinished = new Overdue(clock, messageTimeoutMs, (call) => call.overdue(messageTimeoutMs));
    const common = { clock, logger, counts, malformed, unfinished: this.#unfinished };
    const prefixBytes = malformed === "connect-go" ? framePrefixBytes : 0;
    this.#methods = new Map(
      options.methods.map((method) => {
        const context: CallContext = {
          ...common,
          maxMessageBytes: (method.maxMessageBytes ?? maxMessageBytes) - prefixBytes,
          deadlineStatus: method.kind === "server-streaming" ? method.deadlineStatus : undefined,
        };
        return [method.path, { method, context }];
      }),
    );
  }

  isUnary(path: string): boolean {
    return this.#methods.get(path)?.method.kind === "unary";
  }

  onSession(session: TransportSession): void {
    if (this.#sessionCount++ === 0) this.#unfinished.start();
    this.#onSession?.(session);
  }

  onSessionClosed(): void {
    if (--this.#sessionCount === 0) this.#unfinished.stop();
  }

  onStream(stream: TransportStream): void {
    const found = this.#methods.get(stream.path);
    if (found === undefined) {
      stream.end({ code: "UNIMPLEMENTED", message: `this server has no method ${stream.path}` });
      return;
    }
    const { method, context } = found;
    switch (method.kind) {
      case "unary":
        new UnaryCall(context, stream, method);
        break;
      case "server-streaming":
        new ServerStreamingCall(context, stream, method);
        break;
      case "bidi-streaming":
        new BidiStreamingCall(context, stream, method);
    }
  }
}
