import { once } from "node:events";
import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { freePort } from "../free-port.js";
import { resetSocket } from "../reset-socket.js";
import { Exchange } from "./exchange.js";
import { testTls } from "./test-tls.js";

export interface HttpsListenerOptions {
  /** Per session; an API server allows 100. */
  readonly maxConcurrentStreams?: number;
  /** The certificate to present, in PEM; by default one for 127.0.0.1 from the tests' own authority. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
  readonly onExchange: (exchange: Exchange) => void;
  /** Called with the `connection` of its exchanges when one has ended. */
  readonly onConnectionClosed?: (connection: object) => void;
}

/** A TLS port with ALPN h2 and http/1.1 that can be cut, stopped and opened again under the same number. */
export class HttpsListener {
  readonly sessions = new Set<ServerHttp2Session>();
  /** Connections that were ever accepted. */
  accepted = 0;
  readonly #server: Http2SecureServer;
  readonly #sockets = new Set<Socket>();
  /** By the client's port, which tells which TLSSocket belongs to which TCP socket. */
  readonly #secured = new Map<number | undefined, Socket>();
  #port = 0;

  constructor(options: HttpsListenerOptions) {
    const { maxConcurrentStreams = 100, tls = testTls, onExchange, onConnectionClosed } = options;
    const { key, cert } = tls;
    this.#server = createSecureServer({ key, cert, allowHTTP1: true, settings: { maxConcurrentStreams } });
    this.#server.on("connection", (socket: Socket) => {
      this.accepted += 1;
      this.#sockets.add(socket);
      const { remotePort } = socket;
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.#secured.delete(remotePort);
      });
    });
    this.#server.on("session", (session) => {
      this.sessions.add(session);
      session.on("error", () => undefined);
      session.once("close", () => {
        this.sessions.delete(session);
        onConnectionClosed?.(session);
      });
    });
    this.#server.on("secureConnection", (socket: Socket) => {
      this.#secured.set(socket.remotePort, socket);
      socket.once("close", () => onConnectionClosed?.(socket));
    });
    this.#server.on("sessionError", () => undefined);
    this.#server.on("tlsClientError", () => undefined);
    this.#server.on("request", (request, response) => onExchange(new Exchange(request, response)));
  }

  get port(): number {
    return this.#port;
  }

  /** Open TCP connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  async listen(): Promise<void> {
    if (this.#port === 0) this.#port = await freePort();
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** Resets every connection (RST). */
  cut(): void {
    for (const socket of [...this.#sockets]) {
      this.#reset(socket);
      // That alone waits for pending writes, which the peer may never read …
      socket.destroy();
    }
  }

  /** Resolves once the peers of all sessions have read what was sent to them: PING comes after it, and is answered. */
  async delivered(): Promise<void> {
    const pings = [...this.sessions].map(
      async (session) =>
        new Promise<void>((resolve) => {
          if (session.closed || session.destroyed || !session.ping(() => resolve())) resolve();
        }),
    );
    await Promise.all(pings);
  }

  /** GOAWAY on every session; open streams continue, new ones need a new connection. */
  goAway(): void {
    for (const session of this.sessions) session.close();
  }

  /** Resets the connection these exchanges came on (RST). A session that has ended has none any more. */
  cutConnection(connection: object): void {
    const socket = ("socket" in connection ? connection.socket : connection) as Socket | undefined;
    const remotePort = socket?.remotePort;
    if (remotePort === undefined) return;
    for (const each of this.#sockets) if (each.remotePort === remotePort) this.#reset(each);
  }

  /** GOAWAY on one session; nothing where the connection is HTTP/1.1. */
  goAwayOn(connection: object, code: number): void {
    for (const session of this.sessions) {
      if (session !== connection) continue;
      if (code === constants.NGHTTP2_NO_ERROR) session.close();
      else session.goaway(code);
    }
  }

  /** Cuts all connections, and refuses new ones until `listen`. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    const cut = [...this.#sockets].map(
      async (socket) => new Promise((resolve) => socket.once("close", resolve)),
    );
    this.cut();
    await Promise.all([closed, ...cut]);
  }

  #reset(socket: Socket): void {
    resetSocket(socket, this.#secured.get(socket.remotePort));
  }
}
