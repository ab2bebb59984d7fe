import type { ClusterWatches, RunningInformer } from "@bunting/kube";
import { RateLimitedLog, type Context, type Runnable } from "@bunting/runtime";
import type { ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { proxyPod, proxyPods, type ProxyPod } from "../proxy/proxy-pod.js";
import { readAgents, readAgentsOf, type ProxyEndpoint } from "./read-agents.js";
import { toldAddresses, type AddressAnswer, type ToldAddresses } from "./told-addresses.js";
import type { TopicAgents } from "./told-agents.js";

export interface ProxyAgentsOptions {
  readonly watches: Pick<ClusterWatches, "inform">;
  readonly settings: Pick<ProxySettings, "namespace" | "ports">;
  /** For the proxy's status; undefined while there is none. */
  readonly token: () => string | undefined;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Replaced by tests whose Pods do not answer. */
  readonly read?: typeof readAgents;
  readonly readOf?: typeof readAgentsOf;
}

/** Reads of all Pods of the proxy which agents they have. The Pods are watched, so that a look costs the API server nothing. */
export class ProxyAgents implements Runnable {
  readonly name = "proxy's Pods";
  readonly #options: ProxyAgentsOptions;
  /** Undefined while it does not run: who leads again asks none of the Pods that there were. */
  #pods: RunningInformer<ProxyPod, never> | undefined;
  readonly #log: RateLimitedLog;

  constructor(options: ProxyAgentsOptions) {
    const { context } = options;
    this.#options = options;
    this.#log = new RateLimitedLog(context.logger, context.clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches, settings } = this.#options;
    this.#pods = watches.inform<ProxyPod>(proxyPods(settings.namespace), {
      transform: proxyPod,
      handler: { changed: () => undefined },
    });
    await this.#pods.run(signal);
    this.#pods = undefined;
  }

  /**
   * What each Pod says. A Pod that is not Ready, and does not answer, serves nobody.
   *
   * @returns undefined if it is not known of each Pod that may have agents, or none says it
   */
  async read(signal: AbortSignal): Promise<readonly (readonly TopicAgents[])[] | undefined> {
    const { read = readAgents } = this.#options;
    const told = await this.#askAll((endpoint) => read(endpoint, signal), signal);
    const known = (told ?? []).map((one) => (one === "nobody" || one === "absent" ? [] : one));
    const all = known.filter((one) => one !== "unknown" && one !== "silent");
    return all.length === known.length && all.length > 0 ? all : undefined;
  }

  /** What the subscribers from these addresses have. */
  async readOf(addresses: readonly string[], signal: AbortSignal): Promise<ToldAddresses> {
    const { readOf = readAgentsOf } = this.#options;
    const told = await this.#askAll((endpoint) => readOf(endpoint, addresses, signal), signal);
    return told === undefined ? { kind: "unknown" } : toldAddresses(told);
  }

  /** Undefined before the Pods, or the token, are known. */
  async #askAll<T>(
    ask: (endpoint: ProxyEndpoint) => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<readonly (T | Exclude<AddressAnswer, readonly unknown[]>)[] | undefined> {
    const { settings, token } = this.#options;
    const pods = this.#pods?.informer;
    const presented = token();
    if (presented === undefined || pods?.hasSynced !== true) return undefined;
    const asked = Array.from(pods.store.list(), async ({ metadata, podIp, isReady }) => {
      if (podIp === undefined) return "absent";
      try {
        return (await ask({ host: podIp, port: settings.ports.management, token: presented })) ?? "silent";
      } catch (error) {
        if (!isReady) return "nobody";
        const message =
          "a proxy does not say which agents it has: the status of FeatureFlags stays as it is meanwhile, and no sidecar gets another image";
        if (!signal.aborted) this.#log.warn("unread", { error, pod: metadata.name }, message);
        return "unknown";
      }
    });
    return Promise.all(asked);
  }
}
