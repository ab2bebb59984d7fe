import { readFileSync } from "node:fs";
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from "node:net";
import type { Readable } from "node:stream";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import type { ClusterConfig, Credentials, TlsMaterial } from "../config/cluster-config.js";
import { fixedCredentials } from "../config/credentials.js";
import { KubeError } from "../kube-error.js";
import { resetSocket } from "@bunting/test/support/reset-socket.js";

const fixtures = new URL("../../../../test/fixtures/tls/", import.meta.url);

export function tlsFixture(name: string): string {
  return readFileSync(new URL(name, fixtures), "utf8");
}

/** One request as the server saw it; it is answered by the test. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly session: ServerHttp2Session | undefined;
  readonly stream: ServerHttp2Stream | undefined;
  body(): Promise<string>;
  head(status: number, headers?: Record<string, string>): void;
  write(text: string): void;
  end(text?: string): void;
}

export interface ServerOptions {
  readonly kind?: "h2" | "https" | "http";
  readonly authority?: 1 | 2;
  readonly maxConcurrentStreams?: number;
  readonly requiresClientCertificate?: boolean;
}

/** A server on a port of its own whose answers a test scripts; every connection goes through a relay that can stall or cut it. */
export class ScriptedServer {
  readonly requests = new EventQueue<SeenRequest>();
  readonly resets = new EventQueue<number>();
  readonly sessions = new Set<ServerHttp2Session>();
  readonly relay = new Relay();
  /** How a request is answered at once; by default it waits for the test. */
  answer: (request: SeenRequest) => void = () => undefined;
  sessionsSeen = 0;
  pings = 0;
  #server: Http2SecureServer | Server | undefined;

  async start(options: ServerOptions = {}): Promise<this> {
    const { kind = "h2", authority = 1, maxConcurrentStreams = 100 } = options;
    const tls = {
      key: tlsFixture(`server${authority}.key`),
      cert: tlsFixture(`server${authority}.crt`),
      ca: tlsFixture(`ca${authority}.crt`),
      requestCert: options.requiresClientCertificate === true,
    };
    if (kind === "h2") {
      const server = createSecureServer({ ...tls, settings: { maxConcurrentStreams } });
      server.on("session", (session) => this.#onSession(session));
      server.on("stream", (stream, headers) => this.#onStream(stream, headers));
      this.#server = server;
    } else {
      const onRequest = (message: IncomingMessage, response: ServerResponse): void =>
        this.#onMessage(message, response);
      this.#server = kind === "https" ? createHttpsServer(tls, onRequest) : createPlainServer(onRequest);
    }
    const server = this.#server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await this.relay.start((server.address() as AddressInfo).port);
    return this;
  }

  next(what = "a request"): Promise<SeenRequest> {
    return this.requests.nextEvent(what);
  }

  async stop(): Promise<void> {
    const server = this.#server;
    for (const session of this.sessions) session.destroy();
    await this.relay.stop();
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }

  #onSession(session: ServerHttp2Session): void {
    this.sessionsSeen++;
    this.sessions.add(session);
    session.on("ping", () => this.pings++);
    session.on("error", () => undefined);
    session.on("close", () => this.sessions.delete(session));
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on("error", () => undefined);
    stream.on("close", () => this.resets.push(stream.rstCode));
    this.#onRequest({
      method: String(headers[":method"]),
      path: String(headers[":path"]),
      headers,
      session: stream.session as ServerHttp2Session | undefined,
      stream,
      body: () => textOf(stream),
      head: (status, more = {}) => stream.respond({ ":status": status, ...more }),
      write: (text) => void stream.write(text),
      end: (text) => void stream.end(text),
    });
  }

  #onMessage(message: IncomingMessage, response: ServerResponse): void {
    this.#onRequest({
      method: message.method ?? "",
      path: message.url ?? "",
      headers: message.headers,
      session: undefined,
      stream: undefined,
      body: () => textOf(message),
      head: (status, more = {}) => {
        response.writeHead(status, more);
        response.flushHeaders();
      },
      write: (text) => void response.write(text),
      end: (text) => void response.end(text),
    });
  }

  #onRequest(request: SeenRequest): void {
    this.answer(request);
    this.requests.push(request);
  }
}

/** Answers everything at once: a watch stays open, a call ends. */
export function answerAll(request: SeenRequest): void {
  request.head(200);
  if (request.path.includes("watch")) request.write("\n");
  else request.end("{}");
}

/** A TCP relay that can fall silent while its connections look open, or cut them. */
export class Relay {
  readonly #server: TcpServer = createTcpServer((near) => this.#onConnection(near));
  readonly #sockets = new Set<Socket>();
  #target = 0;
  #isStalled = false;
  #isRefusing = false;
  accepted = 0;

  async start(target: number): Promise<void> {
    this.#target = target;
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections of clients that are open. */
  get open(): number {
    return this.#sockets.size / 2;
  }

  stall(): void {
    this.#isStalled = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  /** Lets only the connection that was accepted last fall silent. */
  stallNewest(): void {
    for (const socket of [...this.#sockets].slice(-2)) socket.unpipe().pause();
  }

  /** Resets new connections from now on. */
  refuse(): void {
    this.#isRefusing = true;
  }

  /** Lets stalled sockets notice that the other end is gone; data that was held back is lost. */
  release(): void {
    this.#isStalled = false;
    for (const socket of this.#sockets) socket.resume();
  }

  cut(how: "reset" | "fin" = "reset"): void {
    for (const socket of this.#sockets) {
      if (how === "reset") resetSocket(socket);
      else socket.unpipe().resume().end();
    }
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #onConnection(near: Socket): void {
    this.accepted++;
    if (this.#isRefusing) {
      resetSocket(near);
      return;
    }
    const far = connect(this.#target, "127.0.0.1");
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        // A stalled relay keeps the other side open, like a firewall that dropped the connection.
        if (!this.#isStalled) (socket === near ? far : near).destroy();
      });
    }
    if (this.#isStalled) return;
    near.pipe(far);
    far.pipe(near);
  }
}

/** How a test reaches the server: through its relay. */
export function clusterOf(
  server: ScriptedServer,
  options: {
    scheme?: "https" | "http";
    tls?: TlsMaterial;
    credentials?: Credentials;
    path?: string;
    host?: string;
  } = {},
): ClusterConfig {
  const { scheme = "https", path = "", host = "127.0.0.1", credentials = fixedCredentials() } = options;
  const tls = options.tls ?? { ca: tlsFixture("ca1.crt") };
  return {
    server: new URL(`${scheme}://${host}:${server.relay.port}${path}`),
    tls: { read: () => Promise.resolve(tls) },
    credentials,
  };
}

export async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** The chunks of a body as events, then `end` or the code of its error. */
export function eventsOf(body: Readable): EventQueue<string> {
  const events = new EventQueue<string>();
  body.on("data", (chunk: Buffer) => events.push(chunk.toString()));
  body.on("end", () => events.push("end"));
  body.on("error", (error) => events.push(error instanceof KubeError ? error.code : String(error)));
  return events;
}

/** What a promise rejects with. */
export function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error("it should have failed"),
    (error: unknown) => error,
  );
}
