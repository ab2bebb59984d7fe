import { createServer, type RequestListener } from "node:http";
import type { Socket } from "node:net";

export interface Http1ServerOptions {
  /** How long a client may take for its request's headers. */
  readonly headerTimeoutMs: number;
  /** How long a client may take for a whole request. */
  readonly requestTimeoutMs: number;
  /** Size of a request's line and headers, in bytes; `headerSlackBytes` more are accepted. */
  readonly maxHeaderBytes: number;
}

/** As in Go's server, and so in flagd: what its reader may hold beyond the limit. */
const headerSlackBytes = 4_096;

/** HTTP/1.1 on sockets that were accepted elsewhere. */
export class Http1Server {
  readonly #server;

  constructor(onRequest: RequestListener, options: Http1ServerOptions) {
    const { headerTimeoutMs, requestTimeoutMs, maxHeaderBytes } = options;
    this.#server = createServer(
      {
        maxHeaderSize: maxHeaderBytes + headerSlackBytes,
        headersTimeout: headerTimeoutMs,
        requestTimeout: Math.max(headerTimeoutMs, requestTimeoutMs),
        // How often node checks the timeouts.
        connectionsCheckingInterval: Math.max(10, Math.min(1_000, Math.ceil(headerTimeoutMs / 4))),
      },
      onRequest,
    );
  }

  /** Begins to enforce the timeouts. */
  start(): void {
    // Node sets up its connection tracking when a server begins to listen, which this one never does. Without the event there would
    // be no timeouts, and `closeIdleConnections` would do nothing.
    this.#server.emit("listening");
  }

  /** Takes over a connection; bytes that were already read must have been put back with `unshift`. */
  accept(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** Closes connections that are between two requests. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  /** Stops the timeouts. The sockets are to be destroyed by their owner, which accepted them. */
  close(): void {
    this.#server.close();
  }
}
