import type { ClusterWatches, RunningInformer } from "@bunting/kube";
import { RateLimitedLog, type Context, type Runnable } from "@bunting/runtime";
import type { ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { proxyPod, proxyPods, type ProxyPod } from "../proxy/proxy-pod.js";
import { readAgents } from "./read-agents.js";
import type { TopicAgents } from "./told-agents.js";

export interface ProxyAgentsOptions {
  readonly watches: Pick<ClusterWatches, "inform">;
  readonly settings: Pick<ProxySettings, "namespace" | "ports">;
  /** For the proxy's status; undefined while there is none. */
  readonly token: () => string | undefined;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Replaced by tests whose Pods do not answer. */
  readonly read?: typeof readAgents;
}

/** Reads of all Pods of the proxy which agents they have. The Pods are watched, so that a look costs the API server nothing. */
export class ProxyAgents implements Runnable {
  readonly name = "proxy's Pods";
  readonly #options: ProxyAgentsOptions;
  readonly #pods: RunningInformer<ProxyPod, never>;
  readonly #log: RateLimitedLog;

  constructor(options: ProxyAgentsOptions) {
    const { watches, settings, context } = options;
    this.#options = options;
    this.#log = new RateLimitedLog(context.logger, context.clock);
    this.#pods = watches.inform<ProxyPod>(proxyPods(settings.namespace), {
      transform: proxyPod,
      handler: { changed: () => undefined },
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#pods.run(signal);
  }

  /**
   * What each Pod says. A Pod that is not Ready, and does not answer, serves nobody.
   *
   * @returns undefined if it is not known of each Pod that may have agents, or none says it
   */
  async read(signal: AbortSignal): Promise<readonly (readonly TopicAgents[])[] | undefined> {
    const token = this.#options.token();
    const { hasSynced, store } = this.#pods.informer;
    if (token === undefined || !hasSynced) return undefined;
    const told = await Promise.all([...store.list()].map((pod) => this.#readPod(pod, token, signal)));
    const known = told.filter((one) => one !== undefined);
    return known.length === told.length && known.length > 0 ? known : undefined;
  }

  async #readPod(
    { metadata, podIp, isReady }: ProxyPod,
    token: string,
    signal: AbortSignal,
  ): Promise<readonly TopicAgents[] | undefined> {
    if (podIp === undefined) return [];
    const { settings, read = readAgents } = this.#options;
    try {
      return await read({ host: podIp, port: settings.ports.management, token }, signal);
    } catch (error) {
      if (!isReady) return [];
      const message =
        "a proxy does not say which agents it has: the status of FeatureFlags stays as it is meanwhile";
      if (!signal.aborted) this.#log.warn("unread", { error, pod: metadata.name }, message);
      return undefined;
    }
  }
}
