import { CodedError } from "@bunting/runtime";

/** Reasons for which a request brought no document; logs and metrics have the same words. */
export type HttpFailureCode =
  | "unreachable" // there is no connection, or it ended before the answer.
  | "timeout" // the answer was not complete in time.
  | "certificate" // the file of the authorities can't be read.
  | "credentials" // a file with credentials can't be read, or is empty.
  | "token" // the OAuth server grants no token.
  | "unauthorized" // the answer was 401.
  | "forbidden" // 403.
  | "missing" // 404 or 410.
  | "throttled" // 429.
  | "client_error" // another 4xx.
  | "server_error" // 5xx.
  | "unexpected_status" // neither these nor 2xx.
  | "redirect" // it redirects too often, or to where it is not followed.
  | "encoding" // it is compressed in a way that can't be unpacked.
  | "empty" // it has no body.
  | "too_large" // it needs more memory than there is.
  | "host_refused" // this host may not be called.
  | "address_refused" // this host may be called, but not at the address that it has.
  | "too_deep" // its JSON is nested too deep.
  | "unavailable" // this process can't read its own code, for want of a file descriptor for instance.
  | "defect"; // there is a bug in Bunting.

/** Why a request brought no document. */
export class HttpFailure extends CodedError<HttpFailureCode> {
  override readonly name = "HttpFailure";
  /** How long the server asked us to wait, in ms. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: HttpFailureCode,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number } = {},
  ) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}
