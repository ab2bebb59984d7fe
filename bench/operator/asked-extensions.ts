import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Cluster } from "@bunting/test/cluster/support/cluster.js";
import { inParallel } from "@bunting/test/cluster/support/in-parallel.js";

interface AskedObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

/** The services behind Extensions, all at one port, each at a path of its own. */
export class AskedExtensions {
  /** What the last of them adds to each sidecar. */
  readonly mark = "bench.example.com/asked";
  readonly #count: number;
  readonly #server: Server;
  #calls = 0;

  private constructor(count: number) {
    this.#count = count;
    this.#server = createServer((request, response) => {
      this.#calls++;
      if (request.url !== `/${this.#nameOf(count - 1)}`) {
        request.resume().on("end", () => response.writeHead(204).end());
        return;
      }
      void json(request).then((body) => {
        const { object } = body as { readonly object: AskedObject };
        const annotations = { ...object.metadata.annotations, [this.mark]: "yes" };
        const answer = { ...object, metadata: { ...object.metadata, annotations } };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
      });
    });
  }

  static async start(count: number): Promise<AskedExtensions> {
    const extensions = new AskedExtensions(count);
    await new Promise<void>((resolve) => extensions.#server.listen(0, "127.0.0.1", resolve));
    return extensions;
  }

  get calls(): number {
    return this.#calls;
  }

  get allowedHost(): string {
    return `${this.#origin}=127.0.0.1`;
  }

  async register(cluster: Cluster): Promise<void> {
    await inParallel(
      Array.from({ length: this.#count }, (_, index) => index),
      (index) =>
        cluster.api.apply(`/apis/bunting.dev/v1alpha1/extensions/${this.#nameOf(index)}`, {
          apiVersion: "bunting.dev/v1alpha1",
          kind: "Extension",
          metadata: { name: this.#nameOf(index) },
          spec: {
            hooks: ["pre-create"],
            objects: ["Sidecar"],
            url: `${this.#origin}/${this.#nameOf(index)}`,
            failurePolicy: "Fail",
            priority: -index,
          },
        }),
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #nameOf(index: number): string {
    return `extension-${index}`;
  }

  get #origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}
