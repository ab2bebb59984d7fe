import { CodedError } from "@bunting/runtime";

export type KubeErrorCode =
  | "CONFIG_INVALID" // no cluster was found, or its configuration can't be used.
  | "CONNECTION_REFUSED" // nothing listens at the API server's address.
  | "CONNECTION_LOST" // the connection broke or could not be made, or a name could not be resolved.
  | "TIMEOUT" // the API server did not answer, or fell silent.
  | "PROTOCOL" // the answer is not one that an API server sends.
  | "UNAUTHORIZED" // the token is not (or no longer) accepted.
  | "FORBIDDEN" // RBAC does not allow it.
  | "NOT_FOUND" // there is no such object, or no such resource type.
  | "CONFLICT" // another client changed the object first, or the object exists already.
  | "EXPIRED" // the resourceVersion or continue token is too old (410); only a new consistent read helps.
  | "RESOURCE_VERSION_TOO_LARGE" // the API server has not seen that resourceVersion, and may never.
  | "INVALID" // the API server rejects the request, and would reject it again.
  | "THROTTLED" // too many requests; `retryAfterMs` says how long to wait, if the server did.
  | "SERVER_ERROR" // the API server failed (5xx).
  | "ABORTED"; // the caller's signal ended it.

/** One of the reasons of a refusal, as `metav1.StatusCause`; undefined where the API server left a part out. */
export interface StatusCause {
  /** What kind of fault it is: `FieldManagerConflict`, `FieldValueInvalid`, … */
  readonly reason: string | undefined;
  readonly message: string | undefined;
  /** The path of a field; its form depends on the reason. */
  readonly field: string | undefined;
}

export interface KubeErrorOptions extends ErrorOptions {
  /** The HTTP status, or the code of a Status within a watch. */
  readonly status?: number;
  /** The `reason` of the Status object, as the API server wrote it: `Expired`, `Forbidden`, … */
  readonly reason?: string;
  /** The server's Retry-After, in ms. */
  readonly retryAfterMs?: number;
  /** The causes of a Status object; none if absent. */
  readonly causes?: readonly StatusCause[];
}

/** The only error of this package. Its message is a sentence for an operator, and names the remedy where there is one. */
export class KubeError extends CodedError<KubeErrorCode> {
  override readonly name = "KubeError";
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly causes: readonly StatusCause[];

  constructor(code: KubeErrorCode, message: string, options: KubeErrorOptions = {}) {
    super(code, message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
    this.causes = options.causes ?? [];
  }

  static configInvalid(message: string, options?: KubeErrorOptions): KubeError {
    return new KubeError("CONFIG_INVALID", message, options);
  }
}
