/** The words of OpenSSL, node and grpc-js for what keeps a connection from being made. They have no codes by the time they are a status. */
const causes: readonly (readonly [words: RegExp, cause: Cause])[] = [
  [/self[- ]signed certificate|unable to (verify|get (local )?issuer)/, "untrusted"],
  [/altnames|does not match certificate/, "other_name"],
  [/certificate has expired/, "expired"],
  [/before secure TLS connection|wrong version number|packet length too long/, "no_tls"],
  // The server took the connection, and closed it before any frame of HTTP/2.
  [/Last error: Failed to connect/, "closed"],
  [/Name resolution failed|ENOTFOUND|EAI_AGAIN/, "unresolved"],
  [/ECONNREFUSED/, "refused"],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|no gRPC server has answered/, "unreachable"],
];

type Cause =
  "untrusted" | "other_name" | "expired" | "no_tls" | "closed" | "unresolved" | "refused" | "unreachable";

const advices: Readonly<Record<Cause, string>> = {
  untrusted: "the authority of its certificate is not trusted: name a file with it (AUTHORITY)",
  other_name: "its certificate is for other names: use one of them as the address",
  expired: "its certificate has to be renewed, or the clock here is wrong",
  no_tls: "it closes connections with TLS: it may serve plaintext on this port",
  closed: "it closes the connection at once: it may take TLS only (AUTHORITY)",
  unresolved: "check the name in the address, and the cluster's DNS",
  refused: "nothing listens there: check the address, and that the server is up",
  unreachable: "check the address, and NetworkPolicies on the way",
};

/**
 * What to do about a connection that could not be made; undefined if its message does not say why.
 *
 * @param authority the option that names the authorities to trust, which also turns TLS on
 */
export function connectionAdvice(message: string, authority: string): string | undefined {
  const cause = causes.find(([words]) => words.test(message))?.[1];
  return cause === undefined ? undefined : advices[cause].replace("AUTHORITY", authority);
}
