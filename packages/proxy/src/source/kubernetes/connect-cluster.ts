import {
  connectCluster as connect,
  type ClusterChoice,
  type ConnectClusterOptions,
  type ConnectedCluster,
} from "@bunting/kube";
import { version } from "../../version.js";

/**
 * Prepares the connection to the cluster that the proxy's options or the environment name.
 *
 * @throws KubeError CONFIG_INVALID if they do not name one.
 */
export function connectProxyCluster(
  choice: ClusterChoice,
  options: Omit<ConnectClusterOptions, "program">,
): Promise<ConnectedCluster> {
  return connect(choice, { ...options, program: `bunting-proxy/${version}` });
}
