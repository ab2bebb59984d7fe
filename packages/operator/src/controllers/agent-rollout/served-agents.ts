import type { ProxyAgents } from "../agents/proxy-agents.js";
import type { AgentsOfAddress } from "@bunting/protocol";
import type { ToldAddresses } from "../agents/told-addresses.js";
import type { PodChange } from "../../upgrade/agent-step.js";
import type { FleetAgent, FleetPod } from "../../upgrade/fleet.js";

/**
 * Has the proxies say which sidecars have what they serve: before they get another image, and afterwards. A Pod is
 * known by its addresses, so that only who is in the Pod can speak for it. The proxies are asked anew each time, because
 * an answer from before a sidecar was stopped proves nothing of the one after it.
 */
export class ServedAgents {
  readonly #proxies: Pick<ProxyAgents, "readOf"> | undefined;
  #isUnknown = false;

  /** @param proxies undefined if nobody may be asked: then nothing is expected of sidecars */
  constructor(proxies: Pick<ProxyAgents, "readOf"> | undefined) {
    this.#proxies = proxies;
  }

  /** True while it was not known when it was asked for last: then it is worth asking again. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  /** The Pods, and with those under way that have to prove themselves what the proxies say of them. */
  async told(pods: readonly FleetPod[], signal: AbortSignal): Promise<readonly FleetPod[]> {
    const awaited = pods.filter(({ agent }) => isAwaited(agent));
    if (awaited.length === 0 && !this.#isUnknown) return pods;
    const told = await this.#ask(awaited, signal);
    return pods.map((pod) => {
      const { agent } = pod;
      const served = agent !== undefined && isAwaited(agent) ? servedOf(pod, told) : undefined;
      return agent === undefined || served === undefined ? pod : { ...pod, agent: { ...agent, served } };
    });
  }

  /**
   * The changes that may be made: each that begins with a Pod notes whether its sidecar has what the proxies serve. None
   * begins while that is unknown.
   */
  async noted(changes: readonly PodChange[], signal: AbortSignal): Promise<readonly PodChange[]> {
    const begun = changes.filter((change) => begins(change));
    if (begun.length === 0) return changes;
    const told = await this.#ask(
      begun.map(({ pod }) => pod),
      signal,
    );
    return changes.flatMap((change): readonly PodChange[] => {
      if (!begins(change)) return [change];
      const served = servedOf(change.pod, told);
      if (served === "unknown") return [];
      return [served === "current" ? { ...change, record: { ...change.record, isServed: true } } : change];
    });
  }

  async #ask(pods: readonly FleetPod[], signal: AbortSignal): Promise<ToldAddresses> {
    if (this.#proxies === undefined) return { kind: "silent" };
    const addresses = [...new Set(pods.flatMap((pod) => pod.addresses))];
    const told = await this.#proxies.readOf(addresses, signal);
    this.#isUnknown = told.kind === "unknown";
    return told;
  }
}

function isAwaited(agent: FleetAgent | undefined): boolean {
  const { record } = agent ?? {};
  return record?.isServed === true && (record.state === "updating" || record.state === "observing");
}

/** What goes back goes to what it had before, whoever can say how it was. */
function begins({ previous }: PodChange): boolean {
  return previous !== undefined;
}

function servedOf({ addresses }: FleetPod, told: ToldAddresses): FleetAgent["served"] {
  if (told.kind === "silent") return undefined;
  if (told.kind === "unknown") return "unknown";
  const agents = addresses.flatMap((address): readonly AgentsOfAddress[] => {
    const found = told.agents.get(address);
    return found === undefined ? [] : [found];
  });
  const has = agents.some(({ subscriptions }) => subscriptions > 0);
  return has && agents.every(({ subscriptions, current }) => current === subscriptions)
    ? "current"
    : "behind";
}
