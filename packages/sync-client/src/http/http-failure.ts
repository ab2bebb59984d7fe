/** Why a request brought no document. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";
  /** One of a small set of words. */
  readonly reason: string;
  /** How long the server asked us to wait, in ms. */
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: string,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}
