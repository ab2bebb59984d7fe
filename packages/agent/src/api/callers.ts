/** Who may call, if `--auth-token-file` says so. */
export interface Callers {
  /** Whether a request with this header `authorization` is answered; one that is not is counted. */
  admits(authorization: string | undefined): boolean;
}

/** What others are answered. */
export const unadmitted =
  "this agent needs a token of its --auth-token-file, as authorization: Bearer <token>";

/** Of answers over HTTP with status 401, by RFC 9110. */
export const challenge = { "www-authenticate": "Bearer" };
