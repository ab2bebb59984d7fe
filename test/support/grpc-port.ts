import { once } from "node:events";
import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2";
import { createConnection, type Socket } from "node:net";
import { eventually as eventuallyWithin } from "./event-queue.js";
import { recordingLogger } from "./recording-logger.js";
import { afterwards, releaseAfterEach } from "./releases.js";
import {
  Client,
  credentials,
  Metadata,
  type CallOptions,
  type ClientOptions,
  type ClientReadableStream,
  type ServiceError,
} from "@grpc/grpc-js";
import { GrpcServer, type Method, type ResponseStream, serverStreaming, unary } from "@bunting/rpc";
import { type GrpcServerOptions } from "@bunting/rpc/internal/call/grpc-server.js";
import { PortListener } from "@bunting/server";
import { type PortListenerOptions } from "@bunting/server/internal/port/port-listener-options.js";

export { ManualClock } from "./manual-clock.js";
export { afterwards, recordingLogger, releaseAfterEach };

// Shared by the tests of this package. Everything uses real sockets; what a test takes is checked and released after it.

/** Waits until a condition holds. */
export function eventually(isSo: () => boolean, what = "the condition to hold"): Promise<void> {
  return eventuallyWithin(isSo, what);
}

const identity = (bytes: Uint8Array): Buffer => Buffer.from(bytes);

/** Messages are plain bytes in these tests. */
export const bytesUnary = (
  path: string,
  handle: Parameters<typeof unary<Buffer, Uint8Array>>[0]["handle"],
): Method => unary({ path, decode: identity, encode: (bytes: Uint8Array) => bytes, handle });

export const bytesStreaming = (
  path: string,
  handle: (request: Buffer, out: ResponseStream) => void,
): Method => serverStreaming({ path, decode: identity, handle });

/** A listener on a free port of 127.0.0.1 (or as `options` say) that is closed after the test. */
export async function listen(options: Partial<PortListenerOptions>): Promise<PortListener> {
  const listener = new PortListener({
    endpoint: { host: "127.0.0.1", port: 0 },
    logger: recordingLogger(),
    ...options,
  });
  afterwards(() => listener.close());
  await listener.listen();
  return listener;
}

/** A listener that serves the given methods by gRPC. */
export function serve(
  methods: readonly Method[],
  options: Partial<PortListenerOptions> & { readonly server?: Partial<GrpcServerOptions> } = {},
): Promise<PortListener> {
  const { server, ...listener } = options;
  return listen({ grpc: new GrpcServer({ methods, logger: recordingLogger(), ...server }), ...listener });
}

/** A grpc-js client that sends and receives bytes. */
export class BytesClient {
  readonly #client: Client;

  constructor(target: PortListener | string, options: ClientOptions = {}) {
    const address = typeof target === "string" ? target : `127.0.0.1:${target.port}`;
    this.#client = new Client(address, credentials.createInsecure(), {
      // Clients of one process would otherwise share one connection.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.initial_reconnect_backoff_ms": 100,
      ...options,
    });
    afterwards(() => this.#client.close());
  }

  unary(
    path: string,
    request: Uint8Array,
    metadata = new Metadata(),
    options: CallOptions = {},
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        identity,
        identity,
        Buffer.from(request),
        metadata,
        options,
        (error, response) => {
          if (error === null) resolve(response ?? Buffer.alloc(0));
          else reject(error);
        },
      );
    });
  }

  stream(
    path: string,
    request: Uint8Array = Buffer.alloc(0),
    metadata = new Metadata(),
    options: CallOptions = {},
  ): StreamProbe {
    return new StreamProbe(
      this.#client.makeServerStreamRequest(path, identity, identity, Buffer.from(request), metadata, options),
    );
  }

  get raw(): Client {
    return this.#client;
  }
}

/** A server stream, on the client's side. */
export class StreamProbe {
  readonly call: ClientReadableStream<Buffer>;
  readonly messages: Buffer[] = [];
  readonly headers: Promise<Metadata>;
  readonly status: Promise<{ code: number; details: string; metadata: Metadata }>;

  constructor(call: ClientReadableStream<Buffer>) {
    this.call = call;
    this.headers = once(call, "metadata").then(([metadata]) => metadata as Metadata);
    this.headers.catch(() => undefined);
    this.status = new Promise((resolve) => call.once("status", resolve));
    call.on("data", (message: Buffer) => this.messages.push(message));
    call.on("error", () => undefined);
  }
}

/** Resolves to the error a call ends with. */
export async function failure(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error("the call was expected to fail");
}

/** A bare HTTP/2 client session. */
export function http2Client(
  listener: PortListener,
  options: Parameters<typeof connect>[1] = {},
): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${listener.port}`, options);
  session.on("error", () => undefined);
  afterwards(() => session.destroy());
  return session;
}

/** The response to an HTTP/2 request. */
export async function answerOf(
  stream: ClientHttp2Stream,
): Promise<{ headers: IncomingHttpHeaders; trailers: IncomingHttpHeaders; body: Buffer; rstCode: number }> {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on("response", (received: IncomingHttpHeaders) => (headers = received));
  stream.on("trailers", (received: IncomingHttpHeaders) => (trailers = received));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => undefined);
  // Not events.once, which rejects when the stream emits an error before it closes.
  await new Promise<void>((resolve) => stream.once("close", resolve));
  return { headers, trailers, body: Buffer.concat(chunks), rstCode: stream.rstCode };
}

export const grpcHeaders = (path: string): Record<string, string> => ({
  ":method": "POST",
  ":path": path,
  "content-type": "application/grpc",
  te: "trailers",
});

/** A bare connection. */
export async function rawClient(target: PortListener | string): Promise<RawClient> {
  const socket =
    typeof target === "string" ? createConnection(target) : createConnection(target.port, "127.0.0.1");
  afterwards(() => socket.destroy());
  const client = new RawClient(socket);
  await once(socket, "connect");
  return client;
}

export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  received = "";

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => (this.received += chunk.toString("latin1")));
    // Not events.once, which would reject on an error of the socket (EPIPE on Node 24): what matters is that it is closed.
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** How many whole frames of that type were received. */
  frames(type: number): number {
    let count = 0;
    for (let offset = 0; offset + 9 <= this.received.length;) {
      const head = Buffer.from(this.received.slice(offset, offset + 9), "latin1");
      offset += 9 + head.readUIntBE(0, 3);
      if (head[3] === type && offset <= this.received.length) count += 1;
    }
    return count;
  }

  hasFrame(type: number): boolean {
    return this.frames(type) > 0;
  }
}

/** A promise and the functions that settle it. */
export function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** HTTP/2 frames of a client, written by hand: no library would send them. */
export const wire = {
  type: { headers: 1, rstStream: 3, ping: 6, goaway: 7 },

  preface: Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),

  frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(streamId, 5);
    return Buffer.concat([head, payload]);
  },

  settings(pairs: Readonly<Record<number, number>> = {}): Buffer {
    const payload = Object.entries(pairs).map(([id, value]) => {
      const pair = Buffer.alloc(6);
      pair.writeUInt16BE(Number(id), 0);
      pair.writeUInt32BE(value, 2);
      return pair;
    });
    return wire.frame(4, 0, 0, Buffer.concat(payload));
  },

  settingsAck: (): Buffer => wire.frame(4, 1, 0),

  /** A request's headers; those in `more` are added as literals. */
  headers(streamId: number, path: string, more: Readonly<Record<string, string>> = {}): Buffer {
    const text = (value: string): Buffer => Buffer.from([value.length, ...Buffer.from(value)]);
    const literal = (name: string, value: string): Buffer =>
      Buffer.concat([Buffer.from([0]), text(name), text(value)]);
    const block = Buffer.concat([
      Buffer.from([0x83, 0x86, 0x04]),
      text(path),
      Buffer.from([0x01]),
      text("localhost"),
      literal("content-type", "application/grpc"),
      ...Object.entries(more).map(([name, value]) => literal(name, value)),
    ]);
    return wire.frame(1, 4, streamId, block);
  },

  data: (streamId: number, bytes: Uint8Array, flags = 1): Buffer => wire.frame(0, flags, streamId, bytes),

  rstStream: (streamId: number): Buffer => wire.frame(3, 0, streamId, Buffer.from([0, 0, 0, 8])),

  ping: (): Buffer => wire.frame(6, 0, 0, Buffer.alloc(8)),

  windowUpdate(streamId: number, bytes: number): Buffer {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes);
    return wire.frame(8, 0, streamId, payload);
  },

  /** Everything a subscriber sends to open one stream on a new connection. */
  subscribe: (path: string, settings: Readonly<Record<number, number>> = {}): Buffer =>
    Buffer.concat([
      wire.preface,
      wire.settings(settings),
      wire.headers(1, path),
      wire.data(1, Buffer.alloc(5)),
    ]),
};
