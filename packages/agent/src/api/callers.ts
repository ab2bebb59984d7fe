/** The answer to a request whose token is missing or wrong. */
export const unadmitted =
  "this agent needs a token of its --auth-token-file, as authorization: Bearer <token>";

/** Of answers over HTTP with status 401, by RFC 9110. */
export const challenge = { "www-authenticate": "Bearer" };
