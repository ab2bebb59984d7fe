import type { Server } from "node:http";
import type { Duplex } from "node:stream";

/**
 * Begins to enforce the timeouts of a server that never listens. Node sets up its connection tracking when a server begins to listen. Without
 * the event there would be no timeouts, and `closeIdleConnections` would do nothing.
 */
export function trackConnections(server: Server): void {
  server.emit("listening");
}

/** Hands a connection to a server that never listens, with a limit of its own on the bytes of a head, which node reads when it takes the connection. */
export function serveConnection(server: Server, socket: Duplex, maxHeadBytes: number): void {
  // Not in the types.
  (server as { maxHeaderSize?: number }).maxHeaderSize = maxHeadBytes;
  server.emit("connection", socket);
}
