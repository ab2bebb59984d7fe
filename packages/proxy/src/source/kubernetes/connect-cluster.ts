import { Http2Transport, loadClusterConfig, RestClient, type TransportTiming } from "@bunting/kube";
import type { Clock } from "@bunting/runtime";
import type { ProxyOptions } from "../../options.js";
import { version } from "../../version.js";
import type { Cluster } from "./kubernetes-source.js";

/**
 * Prepares the connection to the cluster that the options or the environment name.
 *
 * @throws KubeError CONFIG_INVALID if they do not name one.
 */
export async function connectCluster(
  options: Pick<ProxyOptions, "kubeconfig" | "kubeContext" | "serviceAccountDirectory">,
  parts: {
    readonly clock: Clock;
    readonly env: Readonly<Record<string, string | undefined>>;
    /** What differs from the usual timing of the connections. */
    readonly timing?: Partial<TransportTiming>;
  },
): Promise<Cluster & { readonly client: RestClient }> {
  const { clock, env, timing = {} } = parts;
  const { kubeconfig, kubeContext, serviceAccountDirectory } = options;
  const config = await loadClusterConfig({
    env,
    clock,
    ...(kubeconfig === "" ? {} : { kubeconfig }),
    ...(kubeContext === "" ? {} : { context: kubeContext }),
    ...(serviceAccountDirectory === "" ? {} : { serviceAccountDirectory }),
  });
  const transport = new Http2Transport(config, { clock, timing, program: `bunting-proxy/${version}` });
  return {
    server: config.server.href,
    client: new RestClient(transport, { clock }),
    connections: transport,
  };
}
