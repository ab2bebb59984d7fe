import type { RestClient } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import type { ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { proxyPod, proxyPods, type ProxyPod } from "./proxy-pod.js";
import { readActiveStreams } from "./read-active-streams.js";

/** Asks the proxies how many subscribers they have. */
export class ProxySubscribers {
  readonly #client: Pick<RestClient, "list">;
  readonly #settings: Pick<ProxySettings, "namespace" | "ports">;
  readonly #context: Pick<Context, "logger">;
  readonly #read: typeof readActiveStreams;

  /** @param read replaced by tests: they have no Pods that answer */
  constructor(
    client: Pick<RestClient, "list">,
    settings: Pick<ProxySettings, "namespace" | "ports">,
    context: Pick<Context, "logger">,
    read = readActiveStreams,
  ) {
    this.#client = client;
    this.#settings = settings;
    this.#context = context;
    this.#read = read;
  }

  /**
   * The streams of all Pods of the proxy together. A Pod that is not Ready, and does not answer, serves nobody.
   *
   * @returns undefined if a Pod does not answer that may have subscribers
   * @throws KubeError if the Pods can't be listed
   */
  async count(signal: AbortSignal): Promise<number | undefined> {
    const { namespace } = this.#settings;
    const { items } = await this.#client.list(proxyPods(namespace), {}, signal);
    const counts = await Promise.all(items.map((pod) => this.#countOf(proxyPod(pod), signal)));
    return counts.reduce((sum, one) => (sum === undefined || one === undefined ? undefined : sum + one), 0);
  }

  async #countOf({ metadata, podIp, isReady }: ProxyPod, signal: AbortSignal): Promise<number | undefined> {
    if (podIp === undefined) return 0;
    try {
      return await this.#read(podIp, this.#settings.ports.management, signal);
    } catch (error) {
      if (!isReady) return 0;
      const fields = { error, pod: metadata.name };
      this.#context.logger.warn(fields, "a proxy does not say how many subscribers it has");
      return undefined;
    }
  }
}
