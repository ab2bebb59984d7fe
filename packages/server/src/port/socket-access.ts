import type { SocketAccess } from "@bunting/http2";
import { startReading, stopReading, unsentBytes } from "../node-internals/socket-handle.js";
import { isEncrypted, peerCertificateOf } from "../tls/peer-certificate.js";

export const socketAccess: SocketAccess = {
  stopReading,
  startReading,
  unsentBytes,
  isEncrypted,
  peerCertificateOf,
};
