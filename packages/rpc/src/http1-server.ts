import { createServer, type RequestListener } from "node:http";
import type { Socket } from "node:net";

export interface Http1ServerOptions {
  /** How long a client may take for its request's headers. */
  readonly headerTimeoutMs: number;
  /** How long a client may take for a whole request. */
  readonly requestTimeoutMs: number;
}

/** HTTP/1.1 on sockets that were accepted elsewhere. */
export class Http1Server {
  readonly #server;

  constructor(onRequest: RequestListener, options: Http1ServerOptions) {
    const { headerTimeoutMs, requestTimeoutMs } = options;
    this.#server = createServer(
      {
        headersTimeout: headerTimeoutMs,
        requestTimeout: Math.max(headerTimeoutMs, requestTimeoutMs),
        // How late node may notice that a timeout has passed.
        connectionsCheckingInterval: Math.max(10, Math.min(1_000, Math.ceil(headerTimeoutMs / 4))),
      },
      onRequest,
    );
  }

  /** Begins to watch the timeouts. */
  start(): void {
    // Node sets up its connection tracking when the server begins to listen, which this one never does: without the event there
    // would be no timeouts, and `closeIdleConnections` would close none.
    this.#server.emit("listening");
  }

  /** Takes over a connection; bytes already read from it must have been put back with `unshift`. */
  accept(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** Drops connections between two requests. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  /** Ends the watch of timeouts. Who accepted the sockets has to destroy them. */
  close(): void {
    this.#server.close();
  }
}
