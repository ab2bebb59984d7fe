import { access } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { ClusterConfig } from "./cluster-config.js";
import { inClusterConfig, isInCluster } from "./in-cluster.js";
import { kubeconfigConfig } from "./kubeconfig.js";

export interface LoadClusterConfigOptions {
  /** The kubeconfig that the user named; if set, nothing else is considered. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly serviceAccountDirectory?: string;
  readonly clock?: Clock;
}

/**
 * The cluster to talk to: of the named kubeconfig, else of this Pod, else of KUBECONFIG, else of ~/.kube/config.
 *
 * @throws KubeError CONFIG_INVALID that says what to do.
 */
export async function loadClusterConfig(options: LoadClusterConfigOptions): Promise<ClusterConfig> {
  const { env, context, serviceAccountDirectory } = options;
  const clock = options.clock === undefined ? {} : { clock: options.clock };
  if (named(options.kubeconfig)) return kubeconfigConfig({ path: options.kubeconfig, context, ...clock });
  if (isInCluster(env) && context === undefined) {
    const directory = serviceAccountDirectory === undefined ? {} : { directory: serviceAccountDirectory };
    return inClusterConfig({ env, ...directory, ...clock });
  }
  const { KUBECONFIG, HOME } = env;
  if (named(KUBECONFIG)) return kubeconfigConfig({ path: KUBECONFIG, context, ...clock });
  const standard = named(HOME) ? path.join(HOME, ".kube", "config") : undefined;
  if (standard !== undefined && (await exists(standard)))
    return kubeconfigConfig({ path: standard, context, ...clock });
  throw KubeError.configInvalid(
    "no cluster was found: this process does not run in a Pod, KUBECONFIG is not set, and " +
      `${standard ?? "~/.kube/config"} does not exist. Name a kubeconfig with --kubeconfig, or run in a cluster`,
  );
}

function named(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch {
    return false;
  }
}
