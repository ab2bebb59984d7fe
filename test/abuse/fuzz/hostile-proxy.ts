import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { prefixed } from "../support/hostile-peer.js";

const headers = { ":status": 200, "content-type": "application/grpc" };
const unimplemented = { ...headers, "grpc-status": "12" };

/** A proxy that sends agents whatever messages it is given, on streams of one method. */
export class HostileProxy {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #streams = new Set<ServerHttp2Stream>();

  private constructor(path: string) {
    this.#server = createServer();
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("error", () => undefined).on("close", () => this.#sessions.delete(session));
    });
    this.#server.on("stream", (stream, request) => {
      stream.on("error", () => undefined).resume();
      if (request[":path"] !== path) {
        stream.respond(unimplemented, { endStream: true });
        return;
      }
      stream.respond(headers);
      this.#streams.add(stream);
      stream.on("close", () => this.#streams.delete(stream));
    });
  }

  static async start(path: string): Promise<HostileProxy> {
    const proxy = new HostileProxy(path);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  send(message: Buffer): void {
    for (const stream of this.#streams) {
      // An agent that does not read must not fill this process.
      if (!stream.destroyed && stream.writableLength < 1_000_000) stream.write(prefixed(message));
    }
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
