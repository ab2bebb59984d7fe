import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { buntingSyncV1 } from "@bunting/protocol";
import type { CertificatePair } from "./certificates.js";
import { freePort } from "./free-port.js";

type Message = NonNullable<buntingSyncV1.SyncResponse["message"]>;
type Settings = NonNullable<Parameters<typeof createServer>[0]>["settings"];

const prefixBytes = 5;

/** A proxy of bunting.sync.v1 that keeps to no rule of the protocol: what it does on a stream is up to the test. */
export class HostileSyncServer {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Streams that were opened, and those of them that the client ended. */
  opened = 0;
  closed = 0;

  /** @param secure its certificate; without, it has no TLS */
  constructor(
    serve: (stream: ServerHttp2Stream, path: string, headers: IncomingHttpHeaders) => void,
    settings: Settings = {},
    secure?: Pick<CertificatePair, "cert" | "key">,
  ) {
    this.#server =
      secure === undefined ? createServer({ settings }) : createSecureServer({ settings, ...secure });
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("error", () => undefined).once("close", () => this.#sessions.delete(session));
    });
    this.#server.on("stream", (stream, headers) => {
      this.opened++;
      stream.on("error", () => undefined).once("close", () => this.closed++);
      serve(stream, headers[":path"] ?? "", headers);
    });
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** Returns its address. */
  async listen(port?: number): Promise<string> {
    this.#server.listen(port ?? (await freePort()), "127.0.0.1");
    await once(this.#server, "listening");
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
  }

  stop(): void {
    this.cut();
    this.#server.close();
  }
}

/** Accepts the call. */
export function open(
  stream: ServerHttp2Stream,
  headers: Readonly<Record<string, string>> = {},
): ServerHttp2Stream {
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto", ...headers });
  return stream;
}

/** Ends the call, as early as that goes. */
export function refuse(
  stream: ServerHttp2Stream,
  code: number,
  headers: Readonly<Record<string, string>> = {},
): void {
  const status = { "grpc-status": String(code), ...headers };
  stream.respond(
    { ":status": 200, "content-type": "application/grpc+proto", ...status },
    { endStream: true },
  );
}

/** Writes as fast as the client reads. Returns how many were written. */
export async function flood(
  stream: ServerHttp2Stream,
  count: number,
  next: (index: number) => Buffer,
): Promise<number> {
  let index = 0;
  while (index < count && !stream.destroyed) {
    if (stream.write(next(index++))) continue;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        stream.off("drain", go).off("close", go);
        resolve();
      };
      stream.once("drain", go).once("close", go);
    });
  }
  return index;
}

/** Writes a message in parts, each once the client has read those before; `between` is called after each, as if that had taken its time. */
export async function dribble(
  stream: ServerHttp2Stream,
  message: Buffer,
  between: () => void,
): Promise<void> {
  // Less than a window, so that a part needs no answer to itself.
  const partBytes = 60_000;
  for (let at = 0; at < message.length && !stream.destroyed; at += partBytes) {
    stream.write(message.subarray(at, at + partBytes));
    // Its answer comes after what was sent before.
    await new Promise<unknown>((resolve) => {
      if (stream.session?.ping(resolve) !== true) resolve(undefined);
    });
    between();
  }
}

/** Calls back with each subscription of the client. */
export function onSubscribe(
  stream: ServerHttp2Stream,
  take: (subscribe: buntingSyncV1.Subscribe) => void,
): void {
  let unread: Buffer = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= prefixBytes) {
      const end = prefixBytes + unread.readUInt32BE(1);
      if (unread.length < end) return;
      const { message } = buntingSyncV1.SyncRequest.decode(unread.subarray(prefixBytes, end));
      unread = unread.subarray(end);
      if (message?.$case === "subscribe") take(message.value);
    }
  });
}

/** A whole frame of gRPC. */
export function encode(message: Message): Buffer {
  const body = buntingSyncV1.SyncResponse.encode({ message }).finish();
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

/** @param document flags, or any text in the place of a document */
export function snapshot(
  topic: string,
  document: Readonly<Record<string, unknown>> | string,
  version: Partial<buntingSyncV1.Version> = {},
): Buffer {
  const text = typeof document === "string" ? document : JSON.stringify({ flags: document });
  const value = { topic, version: versionWith(version), document: Buffer.from(text) };
  return encode({ $case: "snapshot", value });
}

export function versionWith(fields: Partial<buntingSyncV1.Version>): buntingSyncV1.Version {
  return { uid: "u", generation: "1", resourceVersion: "1", digest: Buffer.alloc(32, 1), ...fields };
}

/** A history that leads to the version of this digest. */
export function history(
  topic: string,
  digest: Buffer,
  versions: readonly { readonly digest: Buffer; readonly flags: readonly string[] }[],
): Buffer {
  const all = versions.map(({ digest, flags }) => ({
    ...{ digest, metadata: false, evaluators: false },
    flags: [...flags],
  }));
  return encode({ $case: "history", value: { topic, digest, versions: all } });
}
