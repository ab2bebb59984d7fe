import type { TLSSocket } from "node:tls";
import type { ClientAuthorities } from "./client-authorities.js";
import {
  certificateFailure,
  certificateMissing,
  refusalCode,
  type HandshakeFailure,
} from "./handshake-failure.js";
import { setPeerCertificate } from "./peer-certificate.js";
import { VerifiedCertificate } from "./verified-certificate.js";

/** How clients are let in that are asked for a certificate. One that is presented has to be valid. */
export interface TlsClients {
  readonly authorities: ClientAuthorities;
  /** A certificate has to be presented. */
  readonly isRequired: boolean;
}

/**
 * Notes the client's certificate at the end of its handshake, unless there is a reason to refuse the connection.
 *
 * @param authoritiesVersion of the authorities that OpenSSL has verified the certificate with
 */
export function verifyClient(
  socket: TLSSocket,
  { authorities, isRequired }: TlsClients,
  authoritiesVersion: number,
): HandshakeFailure | undefined {
  // Not by `authorized`: it is true for every session of TLS 1.3 that was resumed, even one that began without a certificate.
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return isRequired ? certificateMissing : undefined;
  const refusal = refusalCode(socket);
  if (refusal !== undefined || !socket.authorized) return certificateFailure(refusal ?? "not verified");
  const verified = new VerifiedCertificate(certificate, authorities, authoritiesVersion);
  // That of a session which was resumed may have expired since; an authority may have been removed during the handshake.
  const distrust = verified.distrust();
  if (distrust !== undefined)
    return certificateFailure(distrust === "expired" ? "CERT_HAS_EXPIRED" : "CERT_UNTRUSTED");
  setPeerCertificate(socket, verified);
  return undefined;
}
