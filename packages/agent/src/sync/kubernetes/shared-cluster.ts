import {
  Epochs,
  Http2Transport,
  inClusterConfig,
  isInCluster,
  KubeError,
  WatchAdmission,
  RestClient,
  WatchListSupport,
  type Reflector,
  type ReflectorShared,
} from "@bunting/kube/pod";
import type { SyncSourceOptions } from "../sync-source.js";

/** The shortest time the API server is asked to keep a watch open, in s; the longest is twice that. */
const watchTimeoutSeconds = 300;

interface Connected {
  readonly shared: ReflectorShared;
  readonly transport: Http2Transport;
  readonly reflectors: Set<Reflector>;
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
   * Runs a reflector until it ends.
   *
   * @throws KubeError CONFIG_INVALID if this process is not in a Pod with a ServiceAccount token
   */
  async run(make: (shared: ReflectorShared) => Reflector, signal: AbortSignal): Promise<void> {
    this.#users++;
    try {
      this.#connected ??= this.#connect();
      const { shared, reflectors } = await this.#connected;
      const reflector = make(shared);
      reflectors.add(reflector);
      await reflector.run(signal).finally(() => reflectors.delete(reflector));
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
    if (!isInCluster(env)) {
      throw new KubeError(
        "CONFIG_INVALID",
        "provider kubernetes works in a Pod only (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): outside of one, run bunting-proxy with a kubeconfig, and name it here as provider grpc",
      );
    }
    const directory = serviceAccountDirectory === "" ? {} : { directory: serviceAccountDirectory };
    const config = await inClusterConfig({ env, clock, ...directory });
    const transport = new Http2Transport(config, { clock, program: this.#program });
    const reflectors = new Set<Reflector>();
    const watches = metrics.watches();
    this.#announce(config.server.href);
    const shared: ReflectorShared = {
      client: new RestClient(transport, { clock }),
      epochs: new Epochs(() => {
        logger.warn("the API server's history was cut (was etcd restored?); all FeatureFlags are read again");
        // Not from within the read that found out, which must finish before it is repeated like all others.
        clock.after(0, () => {
          for (const reflector of reflectors) reflector.relist();
        });
      }),
      admission: new WatchAdmission({ clock }),
      watchList: new WatchListSupport(clock),
      context: {
        clock,
        logger,
        metrics: {
          relist: (reason) => watches.relisted(reason),
          event: (type) => watches.watchEvent(type),
          error: ({ code }) => watches.watchFailed(code.toLowerCase()),
        },
      },
      timeoutSeconds: watchTimeoutSeconds,
    };
    return { shared, transport, reflectors };
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
