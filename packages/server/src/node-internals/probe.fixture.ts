import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { nextTurn } from "@bunting/runtime";
import { MemoryConnection } from "./parser-sample.js";
import { serveConnection, trackConnections } from "./unbound-server.js";

export interface Probe {
  readonly server: Server;
  /** The connection, typed as the socket that node's server expects. */
  readonly socket: Socket;
  /** The error of the server's parser. */
  readonly errors: readonly string[];
  /** Resolves once node has handled these bytes. */
  readonly send: (text: string) => Promise<void>;
}

/** Has a server of node handle a connection, and drops both afterwards. */
export async function probe(
  onRequest: RequestListener,
  use: (probe: Probe) => Promise<boolean>,
  maxHeadBytes = 16 * 1024,
): Promise<boolean> {
  const server = createServer(onRequest);
  const connection = new MemoryConnection();
  const errors: string[] = [];
  server.on("clientError", ({ code }: NodeJS.ErrnoException) => errors.push(String(code)));
  const send = async (text: string): Promise<void> => {
    connection.push(Buffer.from(text, "latin1"));
    await nextTurn();
  };
  try {
    trackConnections(server);
    serveConnection(server, connection, maxHeadBytes);
    return await use({ server, socket: connection as unknown as Socket, errors, send });
  } finally {
    connection.destroy();
    server.close();
  }
}
