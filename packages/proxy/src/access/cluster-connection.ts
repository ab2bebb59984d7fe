import type { RestClient } from "@bunting/kube";
import { aborted, type Runnable } from "@bunting/runtime";
import type { Cluster } from "../source/kubernetes/kubernetes-source.js";

type Client = Pick<RestClient, "raw">;

/**
 * The connection on which the API server is asked about callers. It is apart from that of the watches: what peers cause to be asked does not
 * delay edits.
 */
export class ClusterConnection implements Runnable, Client {
  readonly name = "identity";
  readonly #connect: () => Promise<Cluster & { readonly client: Client }>;
  #client: Client | undefined;
  readonly #connection: Promise<Client>;
  #connected: (client: Client) => void = () => undefined;

  constructor(connect: () => Promise<Cluster & { readonly client: Client }>) {
    this.#connect = connect;
    this.#connection = new Promise((resolve) => (this.#connected = resolve));
  }

  /** Any call of the API; waits until `run` has prepared the connection, or the signal aborts. */
  async raw(...[request, signal]: Parameters<Client["raw"]>): Promise<unknown> {
    this.#client ??= (await Promise.race([this.#connection, aborted(signal)])) ?? undefined;
    // Without a connection the caller has given up, or the process ends because no cluster was found.
    if (this.#client === undefined) throw signal.reason;
    return this.#client.raw(request, signal);
  }

  /** Rejects with a KubeError if the options and the environment name no cluster. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, connections } = await this.#connect();
    this.#connected(client);
    await connections.run(signal);
  }
}
