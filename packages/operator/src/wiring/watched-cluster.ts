import { hostname } from "node:os";
import type { Context } from "@bunting/runtime";
import type { OperatorMetrics } from "../operator-metrics.js";
import type { OperatorOptions } from "../options.js";
import { reflectorMetrics } from "../process-of-operator-metrics.js";
import { servedNamespaces, UnreadNamespaces } from "../served-namespaces.js";
import { version } from "../version.js";
import type { OperatorParts, OperatorWiring } from "./operator-wiring.js";

export interface WatchedCluster {
  readonly wiring: OperatorWiring;
  /** The namespaces that should be served, and are not. */
  readonly unread: UnreadNamespaces;
}

/**
 * What every other chapter is made of: the way to the cluster, and what is watched there.
 *
 * @throws OperatorError OPTION_INVALID if the options want more than rights in the namespaces that they name.
 * @throws KubeError CONFIG_INVALID if the options and the environment name no cluster.
 */
export async function watchedCluster(
  options: OperatorOptions,
  parts: OperatorParts,
  context: Context<OperatorMetrics>,
): Promise<WatchedCluster> {
  const { clock, logger } = context;
  const served = servedNamespaces(options);
  const program = `bunting-operator/${version}`;
  const cluster = await parts.connectCluster(options, { program, clock, env: process.env });
  const { client } = cluster;
  const unread = new UnreadNamespaces(context);
  const only = served && {
    names: served,
    client,
    onRead: (...heard: Parameters<UnreadNamespaces["heard"]>) => unread.heard(...heard),
  };
  const watches = new parts.ClusterWatches({
    client,
    context: { clock, logger, metrics: reflectorMetrics(context) },
    ...(only === undefined ? {} : { only }),
  });
  const instance = options.podName === "" ? hostname() : options.podName;
  return { wiring: { options, parts, context, cluster, watches, served, instance }, unread };
}
