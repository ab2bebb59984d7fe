import { CodedError } from "@bunting/runtime";

/** Reasons for which a caller's identity is not accepted. */
export type IdentityErrorCode =
  | "CREDENTIALS_MISSING" // the caller presents nothing that says who it is.
  | "POD_UNKNOWN" // its address belongs to no single Pod, or to another Pod than before.
  | "TOKEN_REVOKED" // the API server does not accept its token (any more).
  | "IDENTITY_UNAVAILABLE" // it can't be found out for now, because the API server does not answer; the caller may try again.
  | "TOKEN_TOO_LARGE" // the token is longer than any of a ServiceAccount.
  | "TOKEN_MALFORMED" // it is not a signed JSON Web Token.
  | "TOKEN_ALGORITHM" // it is signed with an algorithm that is not accepted, or not with the algorithm of its key.
  | "TOKEN_KEY_UNKNOWN" // the cluster publishes no such key as it is signed with, or no longer does.
  | "TOKEN_SIGNATURE" // its signature was not made with the key it names.
  | "TOKEN_ISSUER" // another issuer than expected has signed it.
  | "TOKEN_AUDIENCE" // it is meant for another service.
  | "TOKEN_EXPIRED" // it has expired.
  | "TOKEN_NOT_YET_VALID" // it is not valid yet; the clocks of the machines may differ.
  | "TOKEN_SUBJECT" // it is not the token of a ServiceAccount.
  | "CERTIFICATE_SUBJECT"; // the client's certificate names no ServiceAccount.

/** The only error of this package. Its message is for the caller: it says what to present, and repeats no credential. */
export class IdentityError extends CodedError<IdentityErrorCode> {
  override readonly name = "IdentityError";
  /** The subject of the credential, where it is proven all the same (by an expired token, for instance); for the log. */
  readonly subject: string | undefined;

  constructor(
    code: IdentityErrorCode,
    message: string,
    options: ErrorOptions & { readonly subject?: string | undefined } = {},
  ) {
    super(code, message, options);
    this.subject = options.subject;
  }
}
