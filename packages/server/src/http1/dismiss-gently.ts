import type { Duplex } from "node:stream";

/** As in Go's server. */
const defaultLingerMs = 500;

/**
 * Sends a last answer, unless another one is under way, and closes the connection of a client that may still be sending. If the socket were
 * closed at once, the system would answer the rest with a reset, and many clients lose the last answer to it.
 *
 * @param lingerMs how long the client may go on sending, unread
 */
export function dismissGently(socket: Duplex, text: string, lingerMs = defaultLingerMs): void {
  if (!socket.writable || socket.writableLength > 0) {
    socket.destroy();
    return;
  }
  socket.end(text);
  socket.pause();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
