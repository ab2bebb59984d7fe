import type { Socket } from "node:net";

/** What the handles of node's TCP, TLS and unix sockets have beyond the documented API. Where it is missing, nothing is concluded. */
interface StreamHandle {
  readonly writeQueueSize?: number;
  /** With TLS, the handle of the socket below. */
  readonly _parent?: StreamHandle;
  /** Returns 0 if the handle was not reading, else an error (UV_EALREADY). */
  readStart?(): number;
  readStop?(): number;
}

/** Bytes that were written, by node:http2 too, and that the system has not taken because its own buffers are full. */
export function unsentBytes(socket: Socket): number {
  const handle = handleOf(socket);
  // A handle of TLS counts what it has encrypted until all of it is sent. The one below shows that a slow peer takes some.
  return (handle?.writeQueueSize ?? 0) + (handle?._parent?.writeQueueSize ?? 0);
}

/**
 * True if node:http2 has stopped reading the socket although nothing waits to be sent. Node does that for a moment while it writes, and for
 * ever after nghttp2 has ended the session because of an error of the peer. It tells nobody of that (until Node 24, which closes such a
 * session at once), and as nothing is read, it does not notice when the peer closes the connection.
 */
export function hasStoppedReading(socket: Socket): boolean {
  const handle = handleOf(socket);
  if (handle?.readStart === undefined || unsentBytes(socket) > 0) return false;
  if (handle.readStart() !== 0) return false;
  handle.readStop?.();
  return true;
}

/** Makes node:http2 read nothing from the socket until `startReading`; false if it was not reading. */
export function pauseReading(socket: Socket): boolean {
  const handle = handleOf(socket);
  if (handle?.readStart === undefined || handle.readStop === undefined) return false;
  const wasReading = handle.readStart() !== 0;
  handle.readStop();
  return wasReading;
}

/** Stops reading a socket that node:http2 reads; the system then holds back what its peer sends. */
export function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop?.();
}

/** Reads on after `stopReading`. */
export function startReading(socket: Socket): void {
  handleOf(socket)?.readStart?.();
}

function handleOf(socket: Socket): StreamHandle | null | undefined {
  return (socket as unknown as { readonly _handle?: StreamHandle | null })._handle;
}
