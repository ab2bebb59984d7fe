import {
  ClusterWatches,
  Http2Transport,
  inClusterConfig,
  isInCluster,
  KubeError,
  RestClient,
  type RunningWatch,
} from "@bunting/kube/pod";
import type { SyncSourceOptions } from "../sync-source.js";

interface Connected {
  readonly watches: ClusterWatches;
  readonly transport: Http2Transport;
}

/**
 * Opens a watch, and runs it until it ends. Rejects with KubeError CONFIG_INVALID if this process is not in a Pod with a ServiceAccount
 * token.
 */
export type RunWatch = (
  open: (watches: ClusterWatches) => RunningWatch,
  signal: AbortSignal,
) => Promise<void>;

/**
 * The connection to the API server, which all sources of provider kubernetes share: open as long as one of them uses it.
 *
 * @param program what the audit log of the API server shows
 */
export function sharedCluster({ pod, context }: SyncSourceOptions, program: string): RunWatch {
  const { clock, logger, metrics } = context;
  let connected: Promise<Connected> | undefined;
  let users = 0;
  let isAnnounced = false;

  const connect = async (): Promise<Connected> => {
    const env = pod?.environment ?? process.env;
    if (!isInCluster(env))
      throw new KubeError(
        "CONFIG_INVALID",
        "provider kubernetes works in a Pod only (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): outside of one, run bunting-proxy with a kubeconfig, and name it here as provider grpc",
      );
    const config = await inClusterConfig({ env, clock, directory: pod?.serviceAccountDirectory });
    const transport = new Http2Transport(config, { clock, program });
    const counts = metrics.watches();
    if (!isAnnounced)
      logger.info(
        { server: config.server.href },
        "this agent watches the API server itself, so each Pod costs it a connection and a watch, and needs RBAC; with bunting-proxy (provider grpc) one watch serves all Pods, and none needs RBAC",
      );
    isAnnounced = true;
    const watches = new ClusterWatches({
      client: new RestClient(transport, { clock, refusedAdvice: config.refusedAdvice }),
      context: {
        clock,
        logger,
        metrics: {
          relist: (reason) => counts.relisted(reason),
          event: (type) => counts.watchEvent(type),
          error: ({ code }) => counts.watchFailed(code.toLowerCase()),
        },
      },
    });
    return { watches, transport };
  };

  const closeIfUnused = async (): Promise<void> => {
    if (users > 0) return;
    // Forgotten before it is closed: who comes meanwhile makes another one.
    const unused = connected;
    connected = undefined;
    const { transport } = (await unused?.catch(() => undefined)) ?? {};
    await transport?.close();
  };

  return async (open, signal) => {
    users++;
    try {
      // All users of a connection that could not be opened leave, and the last of them forgets it.
      const { watches } = await (connected ??= connect());
      await open(watches).run(signal);
    } finally {
      users--;
      await closeIfUnused();
    }
  };
}
