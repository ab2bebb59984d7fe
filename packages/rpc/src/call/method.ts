import { frameMessage } from "./framing.js";
import { RpcError, type RpcStatus } from "@bunting/http2/status";
import type { CloseListener, TransportStream, WriteListener } from "@bunting/http2";

/** The call, as its handler sees it. */
export interface Call {
  readonly stream: TransportStream;
  /** When the client's deadline passes, in ms since the epoch; undefined without one. */
  readonly deadlineMs: number | undefined;
  /** Aborts when the client goes away, its deadline passes or the call ends. Created on first use, because it has a cost. */
  readonly signal: AbortSignal;
  /** A request header by its lower-case name. */
  header(name: string): string | undefined;
}

interface NamedMethod {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Largest request message in bytes, if it differs from the server's: it bounds the memory of streams that have sent half a message. */
  readonly maxMessageBytes?: number | undefined;
}

interface DecodingMethod<Request> extends NamedMethod {
  /** May throw an RpcError to end the call with its status; anything else it throws ends it with INTERNAL. */
  readonly decode: (bytes: Uint8Array) => Request;
}

/** One request, one response. */
export interface UnaryMethod<Request, Response> extends DecodingMethod<Request> {
  readonly encode: (response: Response) => Uint8Array;
  /** Throws an RpcError to end the call with its status; anything else thrown ends it with UNKNOWN and is logged. */
  readonly handle: (request: Request, call: Call) => Response | Promise<Response>;
}

/** One request, one response that many calls get: its bytes exist once, however many clients do not read them. */
export interface SharedUnaryMethod<Request> extends DecodingMethod<Request> {
  /** As in a unary method, but it returns a frame made by `frameMessage`. */
  readonly handle: (request: Request, call: Call) => Uint8Array | Promise<Uint8Array>;
}

/** One request, then response frames until the handler ends the call. */
export interface ServerStreamingMethod<Request> extends DecodingMethod<Request> {
  /** Returns at once and owns `out` from then on. If it throws, the call ends as in a unary method. */
  readonly handle: (request: Request, out: ResponseStream) => void;
  /** Status of a call whose deadline has passed; default DEADLINE_EXCEEDED. */
  readonly deadlineStatus?: RpcStatus | undefined;
}

/** Messages in both directions. */
export interface BidiStreamingMethod<Request> extends DecodingMethod<Request> {
  /** Called when the stream opens; the listener it returns receives each message. If it throws, the call ends as in a unary method. */
  readonly handle: (out: ResponseStream) => RequestListener<Request>;
}

export interface RequestListener<Request> {
  onMessage(request: Request): void;
  onEnd(): void;
}

/** The sending half of a streaming call. */
export interface ResponseStream extends Call {
  /** Sends response headers now (Rust clients give up after 5 s without them); otherwise the first `write` does. */
  sendHeaders(headers?: Readonly<Record<string, string>>): void;
  /** Sends one frame made by `frameMessage`; see TransportStream.write. */
  write(frame: Uint8Array, onWritten?: WriteListener): void;
  /** Sends a frame that other streams send as well; see TransportStream.writeShared. */
  writeShared(frame: Uint8Array, onWritten?: WriteListener): void;
  end(status: RpcStatus): void;
  /** Ends the call as if its handler had thrown this error. */
  fail(error: unknown): void;
  onClose(listener: CloseListener): void;
}

/** A method whose message types are hidden, made by `unary`, `sharedUnary`, `serverStreaming` or `bidiStreaming`. */
export type Method =
  | (NamedMethod & {
      readonly kind: "unary";
      /** True if the frames that `invoke` returns are shared with other calls. */
      readonly isShared: boolean;
      readonly invoke: (message: Uint8Array, call: Call) => Uint8Array | Promise<Uint8Array>;
    })
  | (NamedMethod & {
      readonly kind: "server-streaming";
      readonly deadlineStatus: RpcStatus | undefined;
      readonly invoke: (message: Uint8Array, out: ResponseStream) => void;
    })
  | (NamedMethod & {
      readonly kind: "bidi-streaming";
      readonly invoke: (out: ResponseStream) => RequestListener<Uint8Array>;
    });

export function unary<Request, Response>(
  method: UnaryMethod<Request, Response>,
): Extract<Method, { kind: "unary" }> {
  const { path, maxMessageBytes, decode, encode, handle } = method;
  return {
    kind: "unary",
    path,
    maxMessageBytes,
    isShared: false,
    invoke: (message, call) => {
      const response = handle(decodeRequest(decode, message), call);
      return response instanceof Promise
        ? response.then((settled) => frameMessage(encode(settled)))
        : frameMessage(encode(response));
    },
  };
}

export function sharedUnary<Request>(method: SharedUnaryMethod<Request>): Method {
  const { path, maxMessageBytes, decode, handle } = method;
  return {
    kind: "unary",
    path,
    maxMessageBytes,
    isShared: true,
    invoke: (message, call) => handle(decodeRequest(decode, message), call),
  };
}

export function serverStreaming<Request>(method: ServerStreamingMethod<Request>): Method {
  const { path, maxMessageBytes, deadlineStatus, decode, handle } = method;
  return {
    kind: "server-streaming",
    path,
    maxMessageBytes,
    deadlineStatus,
    invoke: (message, out) => handle(decodeRequest(decode, message), out),
  };
}

export function bidiStreaming<Request>(method: BidiStreamingMethod<Request>): Method {
  const { path, maxMessageBytes, decode, handle } = method;
  return {
    kind: "bidi-streaming",
    path,
    maxMessageBytes,
    invoke: (out) => {
      const listener = handle(out);
      return {
        onMessage: (message) => listener.onMessage(decodeRequest(decode, message)),
        onEnd: () => listener.onEnd(),
      };
    },
  };
}

function decodeRequest<Request>(decode: (bytes: Uint8Array) => Request, message: Uint8Array): Request {
  try {
    return decode(message);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    // INTERNAL, as other gRPC servers answer. The client's bytes are wrong, so nothing is logged here.
    throw new RpcError("INTERNAL", "the request is not a valid message of this method", { cause });
  }
}
