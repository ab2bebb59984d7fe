import { CodedError } from "@bunting/runtime/options";

/** The status codes of gRPC, with their numbers on the wire. */
export const statusCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type StatusName = keyof typeof statusCode;

/** The limits for which requests are refused, or ended early, and what they mean. */
export const refusals = {
  headers: "headers larger than they may be, or invalid ones over HTTP/2",
  message_size: "a message or body larger than it may be",
  answer_size: "an answer that would be larger than it may be",
  message_timeout: "a message that did not arrive whole in time",
  request_timeout:
    "a request over HTTP/1.1 that did not arrive in time, or a connection on which nothing did",
  unfinished_messages: "too many bytes of messages that have not arrived whole, on one connection",
  unread_answers: "too many bytes of answers that have not been read, on one connection",
  pipelining: "too many requests over HTTP/1.1, or questions to reflection, ahead of their answers",
  small_pieces: "a chunked body over HTTP/1.1 in too many small chunks",
  stalled: "an answer of which the peer took nothing for too long",
  memory: "a connection that is refused or ended because peers hold as much memory as --peer-memory allows",
} as const;
export type RefusalReason = keyof typeof refusals;

/** End of a call: the content of its trailers. */
export interface RpcStatus {
  readonly code: StatusName;
  /** For people; percent-encoded on the wire. */
  readonly message: string;
  /** Further trailers, for instance `grpc-retry-pushback-ms`. */
  readonly trailers?: Readonly<Record<string, string>>;
}

/** The one error of this package: throw it from a handler to end the call with that status. */
export class RpcError extends CodedError<StatusName> {
  override readonly name = "RpcError";
  readonly trailers: Readonly<Record<string, string>>;
  /** The limit that was met, if that is what is wrong; it is counted. */
  readonly refusal: RefusalReason | undefined;

  constructor(
    code: StatusName,
    message: string,
    options: ErrorOptions & {
      readonly trailers?: Readonly<Record<string, string>>;
      readonly refusal?: RefusalReason;
    } = {},
  ) {
    super(code, message, options);
    this.trailers = options.trailers ?? {};
    this.refusal = options.refusal;
  }
}
