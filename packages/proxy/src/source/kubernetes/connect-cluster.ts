import { connectCluster as connect, type ConnectClusterOptions, type ConnectedCluster } from "@bunting/kube";
import type { ProxyOptions } from "../../options.js";
import { version } from "../../version.js";

/**
 * Prepares the connection to the cluster that the proxy's options or the environment name.
 *
 * @throws KubeError CONFIG_INVALID if they do not name one.
 */
export function connectProxyCluster(
  {
    kubeconfig,
    kubeContext,
    serviceAccountDirectory,
  }: Pick<ProxyOptions, "kubeconfig" | "kubeContext" | "serviceAccountDirectory">,
  { clock, env, timing = {} }: Pick<ConnectClusterOptions, "clock" | "env" | "timing">,
): Promise<ConnectedCluster> {
  const program = `bunting-proxy/${version}`;
  return connect({ kubeconfig, kubeContext, serviceAccountDirectory, program, clock, env, timing });
}
