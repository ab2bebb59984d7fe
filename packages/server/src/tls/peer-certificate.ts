import type { Socket } from "node:net";
import type { VerifiedCertificate } from "./verified-certificate.js";

const certificate = Symbol("the certificate of the connection's client");
/** A property, which can be read from what node:http2 gives requests in place of their socket, too. */
type Certified = Socket & { [certificate]?: VerifiedCertificate };

/** To be called once the handshake is done, if the client has presented a certificate. */
export function setPeerCertificate(socket: Socket, verified: VerifiedCertificate): void {
  (socket as Certified)[certificate] = verified;
}

/** The certificate of a connection's client, if it has presented one. */
export function peerCertificateOf(socket: Socket): VerifiedCertificate | undefined {
  return isEncrypted(socket) ? (socket as Certified)[certificate] : undefined;
}

/** True for sockets of TLS, whatever encryption lies beneath other sockets. */
export function isEncrypted(socket: Socket): boolean {
  return "encrypted" in socket;
}
