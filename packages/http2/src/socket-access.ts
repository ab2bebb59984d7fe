import type { Socket } from "node:net";
import type { PeerCertificate } from "./transport.js";

/** What the engine asks about sockets beyond node's documented API, and what their port knows of them. One object serves all connections. */
export interface SocketAccess {
  /** Stops reading a socket; the system then holds back what its peer sends. */
  stopReading(socket: Socket): void;
  /** Reads on after `stopReading`. */
  startReading(socket: Socket): void;
  /** Bytes that were written and that the system has not taken because its own buffers are full. */
  unsentBytes(socket: Socket): number;
  /** True for sockets of TLS. */
  isEncrypted(socket: Socket): boolean;
  /** The certificate that the client has presented and that was verified. */
  peerCertificateOf(socket: Socket): PeerCertificate | undefined;
}
