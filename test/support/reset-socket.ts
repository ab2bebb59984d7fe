import type { Socket } from "node:net";

/**
 * Sends RST to the other end. Never call `resetAndDestroy` directly in a test: on a socket whose FIN is still being sent, libuv refuses it,
 * but node assumes success and never closes the handle. The process then can't exit; it spins in node's clean-up.
 *
 * @param tls the TLSSocket around it, if there is one: it ends the connection, and `socket` is not informed.
 */
export function resetSocket(socket: Socket, tls: Socket = socket): void {
  if (tls.destroyed || (tls.writableEnded && !tls.writableFinished)) socket.destroy();
  else socket.resetAndDestroy();
}
