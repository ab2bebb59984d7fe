import type { Clock, Logger, Overdue } from "@bunting/runtime";
import { parseGrpcTimeout } from "./grpc-timeout.js";
import { checkEncoding, decompressMessage } from "./message-decompression.js";
import { MessageDeframer, soleMessage, type MalformedRules } from "./message-deframer.js";
import type { Call } from "./method.js";
import { RpcError, type RpcStatus, type StatusName } from "@bunting/http2/status";
import type { StreamReceiver, TransportStream } from "@bunting/http2";

/** Called for each call that ends, with the sizes of its messages; a client that has gone, or has reset the stream, ends it with CANCELLED. */
type OnCallEnd = (
  path: string,
  code: StatusName,
  durationMs: number,
  requestBytes: number,
  responseBytes: number,
  responses: number,
) => void;

/** Is told of each call of a known method, once of its begin and once of its end. */
export interface CallCounts {
  readonly onCallBegin?: (path: string) => void;
  readonly onCallEnd: OnCallEnd;
}

/** Parts that the calls of a server share. */
export interface CallContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxMessageBytes: number;
  readonly malformed: MalformedRules;
  /** Status of a call whose deadline has passed; default DEADLINE_EXCEEDED. */
  readonly deadlineStatus: RpcStatus | undefined;
  /** Calls that wait for their first message, or for the rest of a message. */
  readonly unfinished: Overdue<ServerCall>;
  readonly counts: CallCounts | undefined;
}

/** A longer timer would fire at once; some clients send a deadline of hundreds of years for "never". */
const maxTimerMs = 2 ** 31 - 1;
const deadlinePassed: RpcStatus = {
  code: "DEADLINE_EXCEEDED",
  message: "the deadline of the call has passed",
};

/** Work of a message, where a request is 1. A message that came alone in its chunk, and not compressed, is free. */
const messageWork = 1 / 8;
const decompressionWork = 1;
const decompressedBytesPerWork = 16 * 1024;

/**
 * A call, of any kind: its request's messages, deadline and signal, and exactly one end. The way of a request:
 *
 *     stream ──> onData ──> split ──────────> stop awaiting, ──> decompress ──> onMessage ──> subclass (unary, streaming)
 *       │        (chunk)    (soleMessage, or  count bytes        (if flagged)                  parses and invokes the method
 *       │                   MessageDeframer)
 *       └──> onEnd ──> not within a message? ──> onRequestEnd ──> subclass
 *
 * and of its answer: subclass ──> sent (counts) ──> stream; subclass ──> end or fail ──> #finish.
 *
 * Invariants:
 * - A subclass calls `start` once, when it is ready for the first message. An error that `onMessage` or `onRequestEnd` throws
 *   ends the call (see `fail`).
 * - A call has ended once `#code` is set. That happens once, in `#finish`, whoever ends it first: the service, an error, the
 *   deadline, or the close of the stream (CANCELLED). Afterwards, request bytes are read and dropped.
 * - `#isUnfinished` is true, and the call in `unfinished`, until its first message has arrived, and while a later one has
 *   arrived in part. Between messages a client may be silent as long as it likes.
 * - Most chunks are one message: they need no deframer. There is one while a message has arrived in part, and in a chunk of several.
 * - The signal and the deframer are created when first needed: most unary calls have neither.
 */
export abstract class ServerCall implements Call, StreamReceiver {
  readonly stream: TransportStream;
  readonly deadlineMs: number | undefined;
  readonly #context: CallContext;
  readonly #startedMs: number;
  #code: StatusName | undefined;
  #requestBytes = 0;
  #responseBytes = 0;
  #responses = 0;
  #isUnfinished = false;
  #cancelDeadline: (() => void) | undefined;
  #abort: AbortController | undefined;
  #deframer: MessageDeframer | undefined;

  constructor(context: CallContext, stream: TransportStream) {
    this.#context = context;
    this.stream = stream;
    this.#startedMs = context.counts === undefined ? 0 : context.clock.monotonicMs();
    context.counts?.onCallBegin?.(stream.path);
    const timeout = stream.header("grpc-timeout");
    this.deadlineMs =
      timeout === undefined ? undefined : context.clock.now() + (parseGrpcTimeout(timeout) ?? Number.NaN);
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.hasEnded) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  get hasEnded(): boolean {
    return this.#code !== undefined;
  }

  header(name: string): string | undefined {
    return this.stream.header(name);
  }

  end(status: RpcStatus): void {
    if (this.hasEnded) return;
    this.stream.end(status);
    this.#finish(status.code);
  }

  /** Ends the call with the status of an RpcError. Any other error is a defect of ours: it is logged, and not shown to the client. */
  fail(error: unknown): void {
    if (this.hasEnded) return;
    if (error instanceof RpcError) {
      if (error.refusal !== undefined) this.stream.session.countRefusal(error.refusal);
      this.end({ code: error.code, message: error.message, trailers: error.trailers });
      return;
    }
    this.#context.logger.error({ error, path: this.stream.path }, "a gRPC handler failed");
    this.end({ code: "UNKNOWN", message: "the server failed to handle this call" });
  }

  /** Counts a response message. Subclasses call it for each. */
  protected sent(frame: Uint8Array): void {
    this.#responses++;
    this.#responseBytes += frame.length;
  }

  /** Receives a whole message, decompressed. */
  protected abstract onMessage(message: Buffer): void;

  /** Called when the client has sent its last message. */
  protected abstract onRequestEnd(): void;

  /** Called once, when the call has ended in any way. */
  protected onFinished(): void {
    // Nothing, but for streams.
  }

  protected start(): void {
    this.#awaitMessage();
    try {
      checkEncoding(this.header("grpc-encoding"));
      this.#startDeadline();
    } catch (error) {
      this.fail(error);
    }
    this.stream.receive(this);
  }

  /** Called when a message has not arrived for too long. */
  overdue(timeoutMs: number): void {
    if (this.stream.isReadingPaused) {
      // Not the client is late: the service has paused reading.
      this.#context.unfinished.add(this);
      return;
    }
    const message = `no whole request message arrived for at least ${timeoutMs} ms`;
    this.fail(new RpcError("UNAVAILABLE", message, { refusal: "message_timeout" }));
  }

  #awaitMessage(): void {
    if (this.#isUnfinished || this.hasEnded) return;
    this.#isUnfinished = true;
    this.#context.unfinished.add(this);
  }

  #stopAwaiting(): void {
    if (!this.#isUnfinished) return;
    this.#isUnfinished = false;
    this.#context.unfinished.delete(this);
  }

  #startDeadline(): void {
    if (this.deadlineMs === undefined) return;
    const { clock, deadlineStatus = deadlinePassed } = this.#context;
    const delayMs = this.deadlineMs - clock.now();
    if (Number.isNaN(delayMs))
      throw new RpcError("INTERNAL", `grpc-timeout is not a timeout: ${this.header("grpc-timeout") ?? ""}`);
    if (delayMs > maxTimerMs) return;
    this.#cancelDeadline = clock.after(delayMs, () => this.end(deadlineStatus));
  }

  /** Called by the stream only. */
  onData(chunk: Buffer): void {
    // Bytes are read after the end too, and dropped: unread ones would close the window of the whole connection.
    if (this.hasEnded) return;
    const { maxMessageBytes, malformed } = this.#context;
    try {
      const sole = this.#deframer === undefined ? soleMessage(chunk, maxMessageBytes) : undefined;
      if (sole !== undefined) {
        this.#stopAwaiting();
        this.#requestBytes += sole.length;
        this.onMessage(sole);
        return;
      }
      const { account } = this.stream.session;
      const deframer = (this.#deframer ??= new MessageDeframer(maxMessageBytes, account, malformed));
      if (malformed === "connect-go") this.#readOne(deframer, chunk);
      else deframer.push(chunk, (message, isCompressed) => this.#receive(message, isCompressed));
      if (deframer.isAtBoundary) this.#deframer = undefined;
      else this.#awaitMessage();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Receives the one message of a call, if nothing follows it in its chunk. */
  #readOne(deframer: MessageDeframer, chunk: Buffer): void {
    const messages: (readonly [message: Buffer, isCompressed: boolean])[] = [];
    deframer.push(chunk, (message, isCompressed) => void messages.push([message, isCompressed]));
    if (messages.length > 1)
      throw new RpcError("UNIMPLEMENTED", "this method takes one message, but the client sent a second");
    const [sole] = messages;
    if (sole === undefined) return;
    if (!deframer.isAtBoundary) throw new RpcError("INVALID_ARGUMENT", "bytes follow the request's message");
    this.#receive(...sole);
  }

  #receive(message: Buffer, isCompressed: boolean): void {
    if (this.hasEnded) return;
    this.#stopAwaiting();
    this.#requestBytes += message.length;
    this.onMessage(isCompressed ? this.#decompress(message) : message);
    this.stream.session.spend(messageWork);
  }

  #decompress(message: Buffer): Buffer {
    const { maxMessageBytes } = this.#context;
    this.stream.session.spend(decompressionWork);
    const decompressed = decompressMessage(message, this.header("grpc-encoding"), maxMessageBytes);
    this.stream.session.spend(decompressed.length / decompressedBytesPerWork);
    return decompressed;
  }

  /** Called by the stream only. */
  onEnd(): void {
    if (this.hasEnded) return;
    try {
      if (this.#deframer?.isAtBoundary === false) {
        const code = this.#context.malformed === "connect-go" ? "INVALID_ARGUMENT" : "INTERNAL";
        throw new RpcError(code, "the request ended in the middle of a message");
      }
      this.onRequestEnd();
    } catch (error) {
      this.fail(error);
    }
  }

  onClosed(): void {
    this.#finish("CANCELLED");
  }

  #finish(code: StatusName): void {
    if (this.hasEnded) return;
    this.#code = code;
    this.#stopAwaiting();
    this.#deframer?.close();
    this.#cancelDeadline?.();
    this.#abort?.abort();
    this.onFinished();
    const { counts, clock } = this.#context;
    counts?.onCallEnd(
      this.stream.path,
      code,
      clock.monotonicMs() - this.#startedMs,
      this.#requestBytes,
      this.#responseBytes,
      this.#responses,
    );
  }
}
