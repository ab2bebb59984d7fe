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

/** The connection to the API server, which all sources of provider kubernetes share: open as long as one of them uses it. */
export class SharedCluster {
  readonly #options: SyncSourceOptions;
  readonly #program: string;
  #connected: Promise<Connected> | undefined;
  #users = 0;
  #isAnnounced = false;

  /** @param program what the audit log of the API server shows */
  constructor(options: SyncSourceOptions, program: string) {
    this.#options = options;
    this.#program = program;
  }

  /**
   * Opens a watch, and runs it until it ends.
   *
   * @throws KubeError CONFIG_INVALID if this process is not in a Pod with a ServiceAccount token
   */
  async run(open: (watches: ClusterWatches) => RunningWatch, signal: AbortSignal): Promise<void> {
    this.#users++;
    try {
      this.#connected ??= this.#connect();
      const { watches } = await this.#connected;
      await open(watches).run(signal);
    } catch (error) {
      this.#connected = undefined;
      throw error;
    } finally {
      this.#users--;
      await this.#closeIfUnused();
    }
  }

  async #connect(): Promise<Connected> {
    const { pod } = this.#options;
    const { clock, logger, metrics } = this.#options.context;
    const { environment: env = process.env, serviceAccountDirectory = "" } = pod ?? {};
    if (!isInCluster(env))
      throw new KubeError(
        "CONFIG_INVALID",
        "provider kubernetes works in a Pod only (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): outside of one, run bunting-proxy with a kubeconfig, and name it here as provider grpc",
      );
    const directory = serviceAccountDirectory === "" ? {} : { directory: serviceAccountDirectory };
    const config = await inClusterConfig({ env, clock, ...directory });
    const transport = new Http2Transport(config, { clock, program: this.#program });
    const counts = metrics.watches();
    this.#announce(config.server.href);
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
  }

  #announce(server: string): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    this.#options.context.logger.info(
      { server },
      "this agent watches the API server itself, so each Pod costs it a connection and a watch, and needs RBAC; with bunting-proxy (provider grpc) one watch serves all Pods, and none needs RBAC",
    );
  }

  async #closeIfUnused(): Promise<void> {
    if (this.#users > 0) return;
    const connected = await this.#connected?.catch(() => undefined);
    this.#connected = undefined;
    await connected?.transport.close();
  }
}
