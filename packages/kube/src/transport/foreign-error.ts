import { errorCode } from "@bunting/runtime";
import { KubeError, type KubeErrorCode } from "../kube-error.js";

/**
 * The one place where errors of sockets, TLS, node:http and node:http2 become KubeErrors.
 *
 * @param server the server's address for the message: `10.0.0.1:443`.
 */
export function kubeErrorOf(error: unknown, server: string): KubeError {
  if (error instanceof KubeError) return error;
  const foreign = error instanceof Error ? error : new Error(String(error));
  const code = codeOf(foreign);
  const entry = entryOf(code) ?? `${broken}: ${foreign.message}`;
  const [kind, sentence] = typeof entry === "string" ? (["CONNECTION_LOST", entry] as const) : entry;
  return new KubeError(kind, sentence.replace("SERVER", server), { cause: error });
}

/** The caller's signal aborted the request. */
export function abortedError(cause?: unknown): KubeError {
  return new KubeError("ABORTED", "the request was aborted", { cause });
}

/** Without a code it is CONNECTION_LOST. */
type Entry = string | readonly [KubeErrorCode, string];

const unresolved = "the name of SERVER can't be resolved: check the server's address and the cluster's DNS";
const unreachable =
  "SERVER is unreachable: check the network, and NetworkPolicies for egress to the API server";
const untrusted =
  "the certificate of SERVER is not signed by a trusted authority: provide the cluster's certificate authority (ca.crt of the ServiceAccount, certificate-authority of the kubeconfig)";
const noClientCertificate =
  "SERVER rejected our TLS client certificate, or requires one: check client-certificate and client-key of the kubeconfig";
const broken = "the connection to SERVER broke";
const notTls: Entry = ["PROTOCOL", "SERVER does not speak TLS: is its address http:// rather than https://?"];

const entries: Readonly<Partial<Record<string, Entry>>> = {
  ECONNREFUSED: [
    "CONNECTION_REFUSED",
    "nothing listens at SERVER: check that the API server is up and the address is right",
  ],
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: ["TIMEOUT", "SERVER did not answer"],
  ECONNRESET: broken,
  EPIPE: broken,
  ERR_STREAM_PREMATURE_CLOSE: broken,
  ERR_SOCKET_CLOSED: broken,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_HAS_EXPIRED: "the certificate of SERVER has expired: renew it, or check this machine's clock",
  CERT_NOT_YET_VALID: "the certificate of SERVER is not valid yet: check this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the certificate of SERVER is for other names: use one of them as the server's address, or as tls-server-name in the kubeconfig",
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  ERR_HTTP2_GOAWAY_SESSION: "SERVER is closing this connection (GOAWAY)",
  ERR_HTTP2_INVALID_SESSION: "the connection to SERVER was closed",
  ERR_HTTP2_ERROR: ["PROTOCOL", "the answer of SERVER is not HTTP/2"],
};

function entryOf(code: string): Entry | undefined {
  const entry = entries[code];
  if (entry !== undefined) return entry;
  if (code.startsWith("HPE_")) return ["PROTOCOL", "the answer of SERVER is not HTTP"];
  if (/^ERR_SSL_.*ALERT.*(CERTIFICATE|HANDSHAKE_FAILURE|UNKNOWN_CA)/.test(code)) return noClientCertificate;
  return undefined;
}

/** For a name with several addresses, node throws an AggregateError; the errors within it have the code. */
function codeOf(error: Error): string {
  const code = errorCode(error);
  if (code !== undefined) return code;
  return error instanceof AggregateError && error.errors[0] instanceof Error ? codeOf(error.errors[0]) : "";
}
