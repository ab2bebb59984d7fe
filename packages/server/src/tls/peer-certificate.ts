import type { Socket } from "node:net";
import type { VerifiedCertificate } from "./verified-certificate.js";

const certificate = Symbol("the certificate of the connection's client");
/** A socket with the certificate as a property: node:http2 gives requests a proxy of their socket, from which properties can be read. */
type Certified = Socket & { [certificate]?: VerifiedCertificate };

/** To be called once the handshake is done, if the client has presented a certificate. */
export function setPeerCertificate(socket: Socket, verified: VerifiedCertificate): void {
  (socket as Certified)[certificate] = verified;
}

/** The certificate of a connection's client, if it has presented one. */
export function peerCertificateOf(socket: Socket): VerifiedCertificate | undefined {
  return isEncrypted(socket) ? (socket as Certified)[certificate] : undefined;
}

/** True if the socket itself is a TLS socket. */
export function isEncrypted(socket: Socket): boolean {
  return "encrypted" in socket;
}
