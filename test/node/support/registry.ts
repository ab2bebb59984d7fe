import { once } from "node:events";
import { createReadStream } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { OciBlob, OciImage } from "../../../scripts/images/oci-image.js";

/**
 * A registry that is only read, without TLS: the sidecars of the stock operator have imagePullPolicy Always, so images that were imported into
 * containerd would not do.
 */
export class Registry {
  /** Manifests by `repository:tag`. */
  readonly #tagged = new Map<string, OciBlob>();
  readonly #blobs = new Map<string, OciBlob>();
  readonly #server: Server;

  /** @param images by `repository:tag`; charts are images here */
  constructor(images: ReadonlyMap<string, OciImage>) {
    for (const [name, { manifest, config, layers }] of images) {
      this.#tagged.set(name, manifest);
      for (const blob of [manifest, config, ...layers]) this.#blobs.set(blob.digest, blob);
    }
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async listen(host: string, port: number): Promise<void> {
    this.#server.listen(port, host);
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer({ url = "", method }: IncomingMessage, response: ServerResponse): void {
    const [, repository, kind, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const blob = this.#tagged.get(`${repository}:${reference}`) ?? this.#blobs.get(reference);
    if (kind === undefined || blob === undefined) {
      response.writeHead(url === "/v2/" ? 200 : 404, { "content-type": "application/json" }).end("{}");
      return;
    }
    response.writeHead(200, {
      "content-type": kind === "blobs" ? "application/octet-stream" : blob.mediaType,
      "content-length": blob.size,
      "docker-content-digest": blob.digest,
    });
    if (method === "HEAD") response.end();
    else createReadStream(blob.file, { highWaterMark: 1024 * 1024 }).pipe(response);
  }
}
