import type { IncomingMessage } from "node:http";
import { peerAddress, type TransportSession } from "@bunting/http2";
import { peerCertificateOf } from "../tls/peer-certificate.js";

/** The sender of a request that is not gRPC, by its connection. */
export function requestPeer({
  socket,
}: IncomingMessage): Pick<TransportSession, "remoteAddress" | "peerCertificate"> {
  return { remoteAddress: peerAddress(socket), peerCertificate: peerCertificateOf(socket) };
}
