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

/** How a call ended: what goes into its trailers. */
export interface RpcStatus {
  readonly code: StatusName;
  /** For people; percent-encoded on the wire. */
  readonly message: string;
  /** Further trailers, for instance `grpc-retry-pushback-ms`. */
  readonly trailers?: Readonly<Record<string, string>>;
}

/** The one error of this package: throw it from a handler to end the call with that status. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: StatusName;
  readonly trailers: Readonly<Record<string, string>>;

  constructor(
    code: StatusName,
    message: string,
    options: ErrorOptions & { readonly trailers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message, options);
    this.code = code;
    this.trailers = options.trailers ?? {};
  }
}
