import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";

/** Has a server of TLS that never listens take a connection. */
export function secureConnection(server: Server, socket: Socket): void {
  server.emit("connection", socket);
}

/** The socket below one of TLS. Node's types do not have it; node:tls itself relies on it. */
export function rawSocketOf(socket: TLSSocket): Socket {
  return (socket as unknown as { readonly _parent: Socket })._parent;
}
