import type { KubeObject, RestClient } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import { podSelector, type ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { readActiveStreams } from "./read-active-streams.js";

const pods = { group: "", version: "v1", plural: "pods" };
const labelSelector = Object.entries(podSelector)
  .map(([name, value]) => `${name}=${value}`)
  .join(",");

/** A Pod's status, as far as it says whether the Pod serves. */
interface PodStatus {
  readonly podIP?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

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
    const { items } = await this.#client.list({ type: pods, namespace, labelSelector }, {}, signal);
    const counts = await Promise.all(items.map((pod) => this.#countOf(pod, signal)));
    return counts.reduce((sum, one) => (sum === undefined || one === undefined ? undefined : sum + one), 0);
  }

  async #countOf(pod: KubeObject, signal: AbortSignal): Promise<number | undefined> {
    const { podIP, conditions = [] } = (pod["status"] ?? {}) as PodStatus;
    if (podIP === undefined) return 0;
    try {
      return await this.#read(podIP, this.#settings.ports.management, signal);
    } catch (error) {
      if (!conditions.some(({ type, status }) => type === "Ready" && status === "True")) return 0;
      const { name } = pod.metadata;
      this.#context.logger.warn({ error, pod: name }, "a proxy does not say how many subscribers it has");
      return undefined;
    }
  }
}
