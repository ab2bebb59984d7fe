/**
 * What can go wrong between us and an API server.
 *
 * - CONFIG_INVALID: there is no cluster to be found, or what says how to reach it can't be used.
 * - CONNECTION_REFUSED: nobody listens at the API server's address.
 * - CONNECTION_LOST: the connection broke, or could not be made, or a name could not be resolved.
 * - TIMEOUT: the API server did not answer, or fell silent.
 * - PROTOCOL: what came is not what an API server sends.
 * - UNAUTHORIZED: the token is not (or no longer) accepted.
 * - FORBIDDEN: RBAC does not allow it.
 * - NOT_FOUND: there is no such object, or no such resource type.
 * - CONFLICT: somebody else changed the object first, or it exists already.
 * - EXPIRED: the resourceVersion or continue token is too old (410); only a new consistent read helps.
 * - RESOURCE_VERSION_TOO_LARGE: the API server has not seen that resourceVersion, and may never.
 * - INVALID: the API server refuses the request as it stands.
 * - THROTTLED: too many requests; `retryAfterMs` says when to come again, if the server did.
 * - SERVER_ERROR: the API server failed (5xx).
 * - ABORTED: the caller's signal ended it.
 */
export type KubeErrorCode =
  | "CONFIG_INVALID"
  | "CONNECTION_REFUSED"
  | "CONNECTION_LOST"
  | "TIMEOUT"
  | "PROTOCOL"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "CONFLICT"
  | "EXPIRED"
  | "RESOURCE_VERSION_TOO_LARGE"
  | "INVALID"
  | "THROTTLED"
  | "SERVER_ERROR"
  | "ABORTED";

export interface KubeErrorOptions extends ErrorOptions {
  /** The HTTP status, or the code of a Status inside of a watch. */
  readonly status?: number;
  /** The `reason` of the Status object, as the API server wrote it: `Expired`, `Forbidden`, … */
  readonly reason?: string;
  /** How long the server asked to stay away, in ms. */
  readonly retryAfterMs?: number;
}

/** The one error of this package; the message is a sentence for whoever can do something about it. */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KubeErrorCode;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: KubeErrorCode, message: string, options: KubeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}
