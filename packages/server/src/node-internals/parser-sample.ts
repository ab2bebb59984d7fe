import { createServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { serveConnection } from "./unbound-server.js";

const maxHeadBytes = 16 * 1024;

/** A connection of HTTP/1.1 within the process, which costs no socket. */
export class MemoryConnection extends Duplex {
  override _read(): void {
    // Bytes are pushed as they arrive.
  }

  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }

  destroySoon(): void {
    this.destroy();
  }
}

/** A connection within the process that node's server has taken. */
export interface ParserSample {
  readonly socket: Socket;
  /** Has node's parser read this at once, which must be one request. */
  readonly parse: (text: string, onRequest: (request: IncomingMessage) => void) => void;
}

type Parsed = Socket & { readonly parser?: { execute?: (bytes: Buffer) => void } | null };

/** Shows a sample to `look`, and drops it. */
export function withSample<Result>(look: (sample: ParserSample) => Result): Result {
  const server = createServer();
  const socket = new MemoryConnection() as unknown as Socket;
  serveConnection(server, socket, maxHeadBytes);
  const parse: ParserSample["parse"] = (text, onRequest) => {
    server.once("request", onRequest);
    (socket as Parsed).parser?.execute?.(Buffer.from(text, "latin1"));
  };
  try {
    return look({ socket, parse });
  } finally {
    socket.destroy();
  }
}
