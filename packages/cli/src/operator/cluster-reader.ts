import type { Duplex } from "node:stream";
import {
  forwardPort,
  Http2Transport,
  KubeError,
  loadClusterConfig,
  readPages,
  RestClient,
  type ClusterConfig,
  type KubeObject,
  type ObjectScope,
  type PodPort,
  type ResourceScope,
  type ClusterChoice,
} from "@bunting/kube";
import type { Io } from "../terminal/io.js";
import { version } from "../version.js";

/** What came of a question to the cluster. A command goes on without a part that its user may not read, and says so. */
export type ClusterAnswer<Found> =
  | { readonly kind: "found"; readonly found: Found }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly message: string };

const pageLength = 500;

/** Reads objects with the rights of the user, until a signal aborts. */
export class ClusterReader {
  readonly client: RestClient;
  readonly signal: AbortSignal;
  readonly #config: ClusterConfig;

  constructor(client: RestClient, config: ClusterConfig, signal: AbortSignal) {
    this.client = client;
    this.signal = signal;
    this.#config = config;
  }

  /** Connects to a port of a Pod. @throws KubeError */
  dialPod(target: PodPort, signal: AbortSignal): Promise<Duplex> {
    return forwardPort(this.#config, target, signal);
  }

  /** @throws KubeError for what is neither an absence nor a matter of rights. */
  async find(scope: ObjectScope): Promise<ClusterAnswer<KubeObject>> {
    return answered(() => this.client.get(scope, this.signal));
  }

  /** All objects; `missing` if there is no such type. */
  async findAll(scope: ResourceScope, fieldSelector?: string): Promise<ClusterAnswer<readonly KubeObject[]>> {
    return answered(() => this.all(scope, fieldSelector));
  }

  /** @throws KubeError */
  async all(scope: ResourceScope, fieldSelector?: string): Promise<readonly KubeObject[]> {
    return this.#picked(scope, (object) => object, fieldSelector);
  }

  /** The values that `pick` takes of all objects, of which none is kept; `missing` if there is no such type. */
  async collect<Found>(
    scope: ResourceScope,
    pick: (object: KubeObject) => Found | undefined,
  ): Promise<ClusterAnswer<readonly Found[]>> {
    return answered(() => this.#picked(scope, pick));
  }

  /** Answer of the API server at a path. */
  async findAt(path: string): Promise<ClusterAnswer<unknown>> {
    return answered(() => this.client.raw({ method: "GET", path }, this.signal));
  }

  /** Answer of the API server to a question in the form of an object, such as a SubjectAccessReview: nothing is stored. */
  async review(path: string, body: object): Promise<ClusterAnswer<unknown>> {
    return answered(() => this.client.raw({ method: "POST", path, body }, this.signal));
  }

  async #picked<Found>(
    scope: ResourceScope,
    pick: (object: KubeObject) => Found | undefined,
    fieldSelector?: string,
  ): Promise<readonly Found[]> {
    const found: Found[] = [];
    const take = (object: KubeObject): void => {
      const picked = pick(object);
      if (picked !== undefined) found.push(picked);
    };
    await readPages(this.client, scope, { limit: pageLength, fieldSelector }, take, this.signal);
    return found;
  }
}

/** Does work with a cluster, and closes the connection. */
export async function withCluster<Result>(
  { kubeconfig, kubeContext }: Pick<ClusterChoice, "kubeconfig" | "kubeContext">,
  io: Pick<Io, "env" | "signal">,
  work: (reader: ClusterReader) => Promise<Result>,
): Promise<Result> {
  const config = await loadClusterConfig({ env: io.env, kubeconfig, kubeContext });
  const transport = new Http2Transport(config, { program: `bunting-cli/${version}` });
  try {
    const client = new RestClient(transport, { refusedAdvice: config.refusedAdvice });
    return await work(new ClusterReader(client, config, io.signal));
  } finally {
    await transport.close();
  }
}

async function answered<Found>(ask: () => Promise<Found>): Promise<ClusterAnswer<Found>> {
  try {
    return { kind: "found", found: await ask() };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.code === "NOT_FOUND") return { kind: "missing" };
    if (error.code === "FORBIDDEN") return { kind: "unreadable", message: error.message };
    throw error;
  }
}
