import type { RestClient } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import type { ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { proxyPod, proxyPods, type ProxyPod } from "./proxy-pod.js";
import { askProxy } from "./ask-proxy.js";

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

/** The metric of our proxy, and of the open-feature-operator's. */
const activeStreams = /^sync_active_streams(?:\{.*\})? (\d+)(?:\s|$)/;

/**
 * Reads from /metrics of a proxy how many streams of clients it has.
 *
 * @param host an IP address
 * @throws Error if it does not answer, or says nothing of streams
 */
export async function readActiveStreams(host: string, port: number, signal: AbortSignal): Promise<number> {
  const { statusCode, text } = await askProxy({ host, port, path: "/metrics" }, signal);
  const counts = streamsOf(text);
  if (statusCode === 200 && counts.length > 0) return counts.reduce((a, b) => a + b);
  throw new Error(`/metrics answered ${statusCode} without sync_active_streams`);
}

function streamsOf(text: string): readonly number[] {
  return text.split("\n").flatMap((line) => {
    const [, count] = activeStreams.exec(line) ?? [];
    return count === undefined ? [] : [Number(count)];
  });
}
