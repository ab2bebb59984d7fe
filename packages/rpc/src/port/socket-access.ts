import type { SocketAccess } from "../http2/socket-access.js";
import { startReading, stopReading, unsentBytes } from "../limits/socket-state.js";
import { isEncrypted, peerCertificateOf } from "../tls/peer-certificate.js";

export const socketAccess: SocketAccess = {
  stopReading,
  startReading,
  unsentBytes,
  isEncrypted,
  peerCertificateOf,
};
