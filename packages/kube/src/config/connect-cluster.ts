import type { Clock, Runnable } from "@bunting/runtime";
import { RestClient } from "../rest/rest-client.js";
import { Http2Transport } from "../transport/http2-transport.js";
import type { TransportTiming } from "../transport/transport-options.js";
import { loadClusterConfig, type ClusterChoice } from "./load-cluster-config.js";

/** A cluster: its address for the log, a client, and the connections, which are open as long as they run. */
export interface ConnectedCluster {
  readonly server: string;
  readonly client: RestClient;
  readonly connections: Runnable;
}

export interface ConnectClusterOptions {
  /** User agent in the API server's audit log: `bunting-proxy/1.0.0`. */
  readonly program: string;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Overrides of the default timing. */
  readonly timing?: Partial<TransportTiming>;
}

/**
 * Prepares the connection to the cluster that the user or the environment names.
 *
 * @throws KubeError CONFIG_INVALID if they do not name one.
 */
export async function connectCluster(
  choice: ClusterChoice,
  { program, clock, env, timing = {} }: ConnectClusterOptions,
): Promise<ConnectedCluster> {
  const config = await loadClusterConfig({ ...choice, env, clock });
  const transport = new Http2Transport(config, { clock, timing, program });
  const client = new RestClient(transport, { clock, refusedAdvice: config.refusedAdvice });
  return { server: config.server.href, client, connections: transport };
}
