import type { Socket } from "node:net";

/**
 * RST to the other end. Never call `resetAndDestroy` itself in a test: on a socket whose FIN is still under way libuv refuses, and node,
 * which takes it for done, never closes the handle. The process then can't end; it spins in node's clean-up after the last line of JS.
 *
 * @param tls the TLSSocket around it, if there is one: it is that which ends the connection, and `socket` does not know.
 */
export function resetSocket(socket: Socket, tls: Socket = socket): void {
  if (tls.destroyed || (tls.writableEnded && !tls.writableFinished)) socket.destroy();
  else socket.resetAndDestroy();
}
