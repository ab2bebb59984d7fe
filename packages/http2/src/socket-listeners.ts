import type { Socket } from "node:net";

export interface SocketOwner {
  /** Bytes have been read. */
  read(chunk: Buffer): void;
  handleClose(): void;
}

const owner = Symbol("the owner of a socket");
type Owned = Socket & { [owner]: SocketOwner };

/** Reads a socket. All sockets have the same listeners, because a reconnect storm brings ten thousand at once. */
export function listenTo(socket: Socket, by: SocketOwner): void {
  (socket as Owned)[owner] = by;
  socket.on("data", onData);
  socket.on("end", onEnd);
  socket.on("close", onClose);
}

function onData(this: Socket, chunk: Buffer): void {
  (this as Owned)[owner].read(chunk);
}

/** A client that sends nothing more gets nothing more. */
function onEnd(this: Socket): void {
  this.destroy();
}

function onClose(this: Socket): void {
  (this as Owned)[owner].handleClose();
}
