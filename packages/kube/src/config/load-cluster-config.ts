import { access } from "node:fs/promises";
import path from "node:path";
import { systemClock, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { ClusterConfig } from "./cluster-config.js";
import { inClusterConfig, isInCluster } from "./in-cluster.js";
import { kubeconfigConfig } from "./kubeconfig.js";

/** Which cluster a user means. */
export interface ClusterChoice {
  /** The kubeconfig file, in which case nothing else is considered; empty: see `loadClusterConfig`. */
  readonly kubeconfig: string;
  /** The context of the kubeconfig; empty: its current one. */
  readonly kubeContext: string;
  /** Directory of the Pod's ServiceAccount token; empty: the usual one. */
  readonly serviceAccountDirectory: string;
}

export interface LoadClusterConfigOptions extends Partial<ClusterChoice> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
}

/**
 * The cluster to talk to: of the named kubeconfig, else of this Pod, else of KUBECONFIG, else of ~/.kube/config.
 *
 * @throws KubeError CONFIG_INVALID that says what to do.
 */
export async function loadClusterConfig(options: LoadClusterConfigOptions): Promise<ClusterConfig> {
  const { env, kubeconfig, kubeContext, serviceAccountDirectory, clock = systemClock } = options;
  const context = named(kubeContext) ? kubeContext : undefined;
  const ofFile = (file: string): Promise<ClusterConfig> => kubeconfigConfig({ path: file, context, clock });
  if (named(kubeconfig)) return ofFile(kubeconfig);
  if (isInCluster(env) && context === undefined)
    return inClusterConfig({ env, clock, directory: serviceAccountDirectory });
  const { KUBECONFIG, HOME } = env;
  if (named(KUBECONFIG)) return ofFile(KUBECONFIG);
  const standard = named(HOME) ? path.join(HOME, ".kube", "config") : undefined;
  if (standard !== undefined && (await exists(standard))) return ofFile(standard);
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
