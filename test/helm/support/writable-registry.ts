import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

interface Stored {
  readonly type: string;
  readonly content: Buffer;
}

/** A registry without TLS that takes whatever is pushed: https://github.com/opencontainers/distribution-spec/blob/main/spec.md */
export class WritableRegistry {
  /** Blobs by digest; manifests by digest, and by `repository:tag`. */
  readonly #stored = new Map<string, Stored>();
  /** What has come of uploads that have not ended, by their paths. */
  readonly #uploads = new Map<string, Buffer>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async listen(): Promise<WritableRegistry> {
    const registry = new WritableRegistry();
    registry.#server.listen(0, "127.0.0.1");
    await once(registry.#server, "listening");
    return registry;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What has been pushed by a name, such as `charts/bunting:1.2.3`. */
  manifest(name: string): object | undefined {
    const stored = this.#stored.get(name);
    return stored && (JSON.parse(stored.content.toString()) as object);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers } = request;
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://registry");
    const content = await buffer(request);
    const upload = /^\/v2\/(.+)\/blobs\/uploads\//.exec(pathname);
    const [, repository = "", kind = "", reference = ""] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
    if (upload !== null && method === "POST") {
      const location = `/v2/${upload[1] ?? ""}/blobs/uploads/${randomUUID()}`;
      response.writeHead(202, { location }).end();
    } else if (upload !== null && method === "PATCH") {
      this.#uploads.set(pathname, content);
      response.writeHead(202, { location: pathname }).end();
    } else if (upload !== null && method === "PUT") {
      const whole = Buffer.concat([this.#uploads.get(pathname) ?? Buffer.alloc(0), content]);
      this.#uploads.delete(pathname);
      this.#stored.set(digestOf(whole), { type: "application/octet-stream", content: whole });
      const isAsNamed = searchParams.get("digest") === digestOf(whole);
      response.writeHead(isAsNamed ? 201 : 400, { "docker-content-digest": digestOf(whole) }).end();
    } else if (kind === "manifests" && method === "PUT") {
      const stored = { type: headers["content-type"] ?? "", content };
      this.#stored.set(`${repository}:${reference}`, stored).set(digestOf(content), stored);
      response.writeHead(201, { "docker-content-digest": digestOf(content) }).end();
    } else {
      const stored = this.#stored.get(`${repository}:${reference}`) ?? this.#stored.get(reference);
      if (stored === undefined) response.writeHead(pathname === "/v2/" ? 200 : 404).end();
      else
        response
          .writeHead(200, {
            "content-type": stored.type,
            "content-length": stored.content.length,
            "docker-content-digest": digestOf(stored.content),
          })
          .end(method === "HEAD" ? undefined : stored.content);
    }
  }
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
