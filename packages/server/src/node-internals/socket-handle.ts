import type { Server, Socket } from "node:net";

/** Undocumented parts of the handles of node's TCP, TLS and unix sockets. Callers expect each to be missing. */
interface StreamHandle {
  readonly writeQueueSize?: number;
  /** With TLS, the handle of the socket below. */
  readonly _parent?: StreamHandle;
  /** True while node wants the socket to be read. */
  readonly reading?: boolean;
  /** Returns 0 if the handle was not reading, else an error (UV_EALREADY). */
  readStart?(): number;
  readStop?(): number;
}

/** Bytes that were written and that the system has not taken because its own buffers are full. */
export function unsentBytes(socket: Socket): number {
  const handle = handleOf(socket);
  // A handle of TLS counts what it has encrypted until all of it is sent. The one below shows that a slow peer takes some.
  return (handle?.writeQueueSize ?? 0) + (handle?._parent?.writeQueueSize ?? 0);
}

/** Stops reading a socket; the system then holds back what its peer sends. Node's own state stays as it is: it does not read on by itself. */
export function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop?.();
}

/** Reads on after `stopReading`. */
export function startReading(socket: Socket): void {
  handleOf(socket)?.readStart?.();
}

/** Reads on after `stopReading`, unless node itself has stopped reading: then it will read on itself. */
export function readOn(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle?.reading === true) handle.readStart?.();
}

/** Whether connections of a server that listens will have such handles: its own has the same class. */
export function hasStreamHandle(server: Server): boolean {
  const handle = handleOf(server);
  return (
    typeof handle?.readStart === "function" &&
    typeof handle.readStop === "function" &&
    "writeQueueSize" in handle
  );
}

function handleOf(socket: Socket | Server): StreamHandle | null | undefined {
  return (socket as unknown as { readonly _handle?: StreamHandle | null })._handle;
}
