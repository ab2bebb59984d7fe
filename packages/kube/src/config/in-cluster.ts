import { isIPv6 } from "node:net";
import path from "node:path";
import { systemClock, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { ClusterConfig } from "./cluster-config.js";
import { clusterTlsFiles } from "./tls-files.js";
import { ClusterTokenFile } from "./token-file.js";

export interface InClusterOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory in which the kubelet mounts token and ca.crt; empty: the usual one. */
  readonly directory?: string | undefined;
  readonly clock?: Clock;
}

const usualDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/** True in a Pod of a cluster, by its environment. */
export function isInCluster(env: InClusterOptions["env"]): boolean {
  return (env["KUBERNETES_SERVICE_HOST"] ?? "") !== "" && (env["KUBERNETES_SERVICE_PORT"] ?? "") !== "";
}

/**
 * The cluster this Pod runs in, as its ServiceAccount.
 *
 * @throws KubeError CONFIG_INVALID outside of a cluster, or where no ServiceAccount token is mounted.
 */
export async function inClusterConfig({
  env,
  directory: given = "",
  clock = systemClock,
}: InClusterOptions): Promise<ClusterConfig> {
  const directory = given === "" ? usualDirectory : given;
  if (!isInCluster(env))
    throw KubeError.configInvalid(
      "this process does not run in a Pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): give it a kubeconfig",
    );
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  const origin = `https://${isIPv6(host) ? `[${host}]` : host}:${env["KUBERNETES_SERVICE_PORT"] ?? ""}`;
  if (!URL.canParse(origin))
    throw KubeError.configInvalid(
      `KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not a valid address: ${origin}`,
    );
  const tls = clusterTlsFiles({ caFile: path.join(directory, "ca.crt") });
  const credentials = new ClusterTokenFile(path.join(directory, "token"), clock);
  await Promise.all([tls.read(), credentials.headers()]);
  const refusedAdvice = {
    UNAUTHORIZED: `check that the Pod's ServiceAccount still exists and its token is mounted in ${directory}`,
    FORBIDDEN: "the credentials are those of the Pod's ServiceAccount",
  };
  return { server: new URL(origin), tls, credentials, refusedAdvice };
}
