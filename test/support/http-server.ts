import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { CertificatePair } from "./certificates.js";
import { EventQueue } from "./event-queue.js";
import { testTls } from "./faulty-api-server/index.js";
import { freePort } from "./free-port.js";

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void;

/** A real HTTP server that answers as the test says, and tells what it was asked. */
export class HttpServer {
  readonly requests = new EventQueue<SeenRequest>();
  /** How each request is answered. */
  answer: Answer = (_request, response) => void response.writeHead(500).end();
  connections = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server;
  readonly #scheme: string;

  /** @param secure its certificate; true: the one for 127.0.0.1 that tests have in common */
  constructor(secure: boolean | CertificatePair = false) {
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      request.once("end", () => {
        const { method = "", url: path = "", headers } = request;
        const seen = { method, path, headers, body };
        this.requests.push(seen);
        this.answer(seen, response);
      });
    };
    this.#scheme = secure === false ? "http" : "https";
    const { cert, key } = typeof secure === "boolean" ? testTls : secure;
    this.#server = secure === false ? createServer(handle) : createSecureServer({ cert, key }, handle);
    this.#server.on("connection", (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** @param address of the loopback network */
  async start(address = "127.0.0.1", given?: number): Promise<string> {
    const port = given ?? (await freePort());
    await new Promise<void>((resolve) => this.#server.listen(port, address, resolve));
    return this.origin;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `${this.#scheme}://${address}:${port}`;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }
}

/** Serves one text, with an ETag, and 304 to who has it. */
export function document(text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  const etag = `"${text.length}-${text.slice(0, 60).replace(/[^a-z0-9]/gi, "")}"`;
  return (request, response) => {
    if (request.headers["if-none-match"] === etag) response.writeHead(304, { etag }).end();
    else response.writeHead(200, { etag, "content-type": "application/json", ...headers }).end(text);
  };
}
