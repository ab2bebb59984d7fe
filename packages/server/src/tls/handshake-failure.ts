import type { TLSSocket } from "node:tls";
import type { HandshakeResult } from "./tls-metrics.js";

export interface HandshakeFailure {
  readonly result: HandshakeResult;
  /** One of a closed set of sentences, for the log. */
  readonly detail: string;
}

type TlsError = Error & { readonly reason?: string; readonly code?: string };

/** Reason why OpenSSL, or node, refused a handshake. */
export function handshakeFailure(error: TlsError, socket: TLSSocket): HandshakeFailure {
  const refusal = refusalCode(socket);
  if (refusal !== undefined) return certificateFailure(refusal);
  if (error.code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE") return certificateMissing;
  if (error.code === "ECONNRESET") return connectionClosed;
  return { result: "protocol", detail: `the handshake failed: ${error.reason ?? error.message}` };
}

export const certificateMissing: HandshakeFailure = {
  result: "certificate_missing",
  detail: "the client presented no certificate",
};

export const connectionClosed: HandshakeFailure = {
  result: "closed",
  detail: "the connection was closed during the handshake",
};

/** `code` is that of OpenSSL's verification, for instance CERT_HAS_EXPIRED. */
export function certificateFailure(code: string): HandshakeFailure {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return {
        result: "certificate_expired",
        detail: "the client's certificate, or that of its authority, has expired",
      };
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "CERT_UNTRUSTED":
    case "CERT_SIGNATURE_FAILURE":
      return {
        result: "certificate_untrusted",
        detail: "no trusted authority has issued the client's certificate",
      };
    default:
      return { result: "certificate_invalid", detail: `the client's certificate is refused: ${code}` };
  }
}

/** OpenSSL's code; node sets it when it has verified the certificate and refuses it. */
export function refusalCode(socket: TLSSocket): string | undefined {
  return (socket.authorizationError as unknown as string | null | undefined) ?? undefined;
}
