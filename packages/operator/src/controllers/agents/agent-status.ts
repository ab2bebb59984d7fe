import {
  setCondition,
  unlessNotFound,
  type Condition,
  type KubeObject,
  type RestClient,
} from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import { sleep, TokenBucket, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import type { ControllerMetrics } from "../controller-metrics.js";
import { Controller } from "../controller.js";
import { StatusWriter } from "../status-writer.js";
import { flagAgents, type FlagAgents } from "./flag-agents.js";
import type { ProxyAgents } from "./proxy-agents.js";
import { remoteConditions } from "./remote-verdicts.js";
import { toldStamp, toldByFlag, type ToldStamp, type TopicAgents } from "./told-agents.js";

export interface AgentStatusOptions {
  readonly client: Pick<RestClient, "get" | "apply">;
  readonly proxies: Pick<ProxyAgents, "read">;
  /** The namespaces that the operator serves; undefined: all. */
  readonly served?: readonly string[] | undefined;
  readonly context: Context<ControllerMetrics>;
}

/** A FeatureFlag, of whose status this is ours. */
export interface CountedFeatureFlag extends KubeObject {
  readonly status?: {
    readonly agents?: FlagAgents["counts"];
    readonly conditions?: readonly Condition[];
  };
}

/** Of its own: the other fields of the status are applied by another controller. */
const statusManager = "bunting-operator-agents";
const lookEveryMs = 5_000;
/** Agents come and go in groups, and all of them for a moment when a proxy is replaced. */
const settleMs = 30_000;
const writesOfAll = { burst: 5, perSecond: 5 };
/** Of one generation, so many writes come as soon as they may: those after them are of agents that come and go, or only say so. */
const newsOfGeneration = 6;
/** What proxies tell, anybody may make them tell: of each change the FeatureFlag is read, and written only if it says something else. */
const readsOfAll = { burst: 200, perSecond: 20 };
const noAgents: readonly TopicAgents[] = [];

/**
 * Says in the status of FeatureFlags how many agents have them: the numbers, and the conditions Served and Converged; and how their remote flag provider is. It speaks of those that agents
 * ask the proxy for, and of those that it has spoken of before. Only the leader runs it.
 */
export class AgentStatus implements Runnable {
  readonly name = "agents of FeatureFlags";
  readonly #options: AgentStatusOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;
  readonly #reads: TokenBucket;
  /** What the proxies said last, by key; undefined until they have been asked. */
  #told: ReadonlyMap<string, readonly TopicAgents[]> | undefined;
  readonly #stamps = new Map<string, ToldStamp>();
  /** By key: how often the status was written of one version of the FeatureFlag. */
  readonly #written = new Map<string, { readonly version: string; readonly times: number }>();
  /** Since when no agent asks for a FeatureFlag, until that is said. */
  readonly #leftMs = new Map<string, number>();
  /** FeatureFlags whose status speaks of agents, seen before the proxies had been asked. */
  readonly #early = new Set<string>();

  constructor(options: AgentStatusOptions) {
    const { context } = options;
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager: statusManager, rate: writesOfAll });
    this.#reads = new TokenBucket(context.clock, readsOfAll);
    this.#controller = new Controller({
      name: "agents",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context,
    });
  }

  /** A FeatureFlag whose status speaks of agents: another leader may have written it, and they may be gone. */
  counted(key: string): void {
    if (this.#told === undefined) this.#early.add(key);
    else if (!this.#stamps.has(key)) this.#controller.after(key, settleMs);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#controller.run(signal), this.#look(signal)]);
    this.#told = undefined;
    for (const each of [this.#stamps, this.#written, this.#leftMs, this.#early]) each.clear();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { proxies, served, context } = this.#options;
    while (!signal.aborted) {
      const reports = await proxies.read(signal);
      if (reports !== undefined) this.#hear(toldByFlag(reports, served));
      await sleep(lookEveryMs, signal, context.clock);
    }
  }

  #hear(told: ReadonlyMap<string, readonly TopicAgents[]>): void {
    this.#told = told;
    const nowMs = this.#options.context.clock.monotonicMs();
    for (const [key, agents] of told) {
      const before = this.#stamps.get(key);
      const stamp = toldStamp(agents);
      this.#stamps.set(key, stamp);
      if (stamp.counts !== "") this.#leftMs.delete(key);
      else if (before?.counts !== "") this.#leftMs.set(key, nowMs);
      if (before?.versions !== stamp.versions) this.#controller.add(key);
      else if (before.counts !== stamp.counts) this.#controller.after(key, settleMs);
    }
    for (const key of [...this.#stamps.keys(), ...this.#early]) {
      if (told.has(key)) continue;
      if (this.#stamps.get(key)?.counts !== "") this.#leftMs.set(key, nowMs);
      this.#stamps.delete(key);
      this.#written.delete(key);
      this.#controller.after(key, settleMs);
    }
    this.#early.clear();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { client } = this.#options;
    if (this.#told === undefined) return undefined;
    // Whoever waits until all have an edit must not be told meanwhile that there is nobody.
    const settlesInMs =
      (this.#leftMs.get(key) ?? -Infinity) + settleMs - this.#options.context.clock.monotonicMs();
    if (settlesInMs > 0) return { requeueAfterMs: settlesInMs };
    this.#leftMs.delete(key);
    // The others wait behind it, and namespaces take turns: who keeps one busy delays each of them by a read.
    await this.#reads.takeNext(signal);
    const [namespace = "", name = ""] = key.split("/");
    const scope = { type: featureFlagType, namespace, name };
    const object: CountedFeatureFlag | undefined = await unlessNotFound(client.get(scope, signal));
    if (object === undefined) return undefined;
    const { uid = "", generation = 0 } = object.metadata;
    const agents = flagAgents({ uid, generation }, this.#told.get(key) ?? noAgents);
    const { conditions, isNews } = this.#conditions(object, agents);
    if (!isNews && isSame(object.status?.agents, agents.counts)) return undefined;
    const metadata = { namespace, name, ...(uid === "" ? {} : { uid }) };
    const target = { type: featureFlagType, kind: "FeatureFlag", metadata };
    const version = `${uid} ${generation}`;
    const known = this.#written.get(key);
    const times = known?.version === version ? known.times : 0;
    const pauseMs = this.#writer.pauseLeftMs(target, isNews && times < newsOfGeneration ? "news" : "counts");
    if (pauseMs > 0) return { requeueAfterMs: pauseMs };
    await this.#writer.write(target, { agents: agents.counts, conditions }, signal);
    if (this.#stamps.has(key)) this.#written.set(key, { version, times: times + 1 });
    return undefined;
  }

  /** Only another status, reason or generation is news: messages repeat the numbers. */
  #conditions(
    { metadata, status }: CountedFeatureFlag,
    { verdicts }: FlagAgents,
  ): { readonly conditions: readonly Condition[]; readonly isNews: boolean } {
    const nowMs = this.#options.context.clock.now();
    const before = status?.conditions ?? [];
    const observedGeneration = metadata.generation ?? 0;
    let conditions: readonly Condition[] = [];
    const isSaid = (type: string): boolean => verdicts.some((verdict) => verdict.type === type);
    // An API server takes back what the next apply leaves out.
    let isNews = before.some(({ type }) => remoteConditions.some((each) => each === type) && !isSaid(type));
    for (const verdict of verdicts) {
      const said = before.find(({ type }) => type === verdict.type);
      const [now] = setCondition(said === undefined ? [] : [said], { ...verdict, observedGeneration }, nowMs);
      if (now === undefined) continue;
      conditions = [...conditions, now];
      isNews ||=
        said?.status !== now.status ||
        said.reason !== now.reason ||
        said.observedGeneration !== observedGeneration;
    }
    return { conditions, isNews };
  }
}

function isSame(a: FlagAgents["counts"] | undefined, b: FlagAgents["counts"]): boolean {
  return a?.total === b.total && a.current === b.current && a.refusing === b.refusing;
}
