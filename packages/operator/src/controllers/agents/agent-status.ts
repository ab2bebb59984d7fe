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

/** A FeatureFlag, with the fields of its status that are ours. */
export interface CountedFeatureFlag extends KubeObject {
  readonly status?: {
    readonly agents?: FlagAgents["counts"];
    readonly conditions?: readonly Condition[];
  };
}

/** A field manager apart, because another controller applies the other fields of the status. */
const statusManager = "bunting-operator-agents";
const lookEveryMs = 5_000;
/** Changed counts settle for this time: agents come and go in groups, and all of them leave for a moment when a proxy is replaced. */
const settleMs = 30_000;
const writesOfAll = { burst: 5, perSecond: 5 };
/** The first writes about a generation wait for the short pause; later ones, for agents that come and go (or claim to), for the long one. */
const promptWritesOfGeneration = 6;
/** Limits reads, because anybody can make a proxy report changes. Each reported change reads the FeatureFlag, and writes only a new status. */
const readsOfAll = { burst: 200, perSecond: 20 };
const noAgents: readonly TopicAgents[] = [];

/**
 * Writes into the status of FeatureFlags how many agents have them (the counts, and the conditions Served and Converged), and the conditions of
 * their remote flag provider. It polls the proxies, compares each report with the one before by its stamp, and queues the FeatureFlags that differ:
 * at once for a new version, after `settleMs` for new counts. A FeatureFlag that no proxy reports is left alone, unless its status still
 * counts agents. Only the leader runs it.
 */
export class AgentStatus implements Runnable {
  readonly name = "agents of FeatureFlags";
  readonly #options: AgentStatusOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;
  readonly #reads: TokenBucket;
  /** The last reports of the proxies, by key; undefined until they have answered. */
  #reports: ReadonlyMap<string, readonly TopicAgents[]> | undefined;
  readonly #stamps = new Map<string, ToldStamp>();
  /** By key: how often the status was written of one version of the FeatureFlag. */
  readonly #written = new Map<string, { readonly version: string; readonly times: number }>();
  /** When the last agent left a FeatureFlag, until the status says so. */
  readonly #leftMs = new Map<string, number>();
  /** FeatureFlags whose status counts agents, seen before the first reports. */
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

  /** To be called with a FeatureFlag whose status counts agents: another leader may have written it, and the agents may be gone. */
  counted(key: string): void {
    if (this.#reports === undefined) this.#early.add(key);
    else if (!this.#stamps.has(key)) this.#controller.after(key, settleMs);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#controller.run(signal), this.#poll(signal)]);
    this.#reports = undefined;
    for (const each of [this.#stamps, this.#written, this.#leftMs, this.#early]) each.clear();
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { proxies, served, context } = this.#options;
    while (!signal.aborted) {
      const reports = await proxies.read(signal);
      if (reports !== undefined) this.#compare(toldByFlag(reports, served));
      await sleep(lookEveryMs, signal, context.clock);
    }
  }

  /** Queues the FeatureFlags whose reports differ from those before. */
  #compare(reports: ReadonlyMap<string, readonly TopicAgents[]>): void {
    this.#reports = reports;
    const nowMs = this.#options.context.clock.monotonicMs();
    for (const [key, agents] of reports) {
      const before = this.#stamps.get(key);
      const stamp = toldStamp(agents);
      this.#stamps.set(key, stamp);
      if (stamp.counts !== "") this.#leftMs.delete(key);
      else if (before?.counts !== "") this.#leftMs.set(key, nowMs);
      if (before?.versions !== stamp.versions) this.#controller.add(key);
      else if (before.counts !== stamp.counts) this.#controller.after(key, settleMs);
    }
    for (const key of [...this.#stamps.keys(), ...this.#early]) {
      if (reports.has(key)) continue;
      if (this.#stamps.get(key)?.counts !== "") this.#leftMs.set(key, nowMs);
      this.#stamps.delete(key);
      this.#written.delete(key);
      this.#controller.after(key, settleMs);
    }
    this.#early.clear();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { client } = this.#options;
    if (this.#reports === undefined) return undefined;
    // While a proxy is replaced, the status must not say that there are no agents: a script that waits for Converged would go on.
    const settlesInMs =
      (this.#leftMs.get(key) ?? -Infinity) + settleMs - this.#options.context.clock.monotonicMs();
    if (settlesInMs > 0) return { requeueAfterMs: settlesInMs };
    this.#leftMs.delete(key);
    // All keys wait behind this read, and namespaces take turns: a busy FeatureFlag delays each other namespace by one read.
    await this.#reads.takeNext(signal);
    const [namespace = "", name = ""] = key.split("/");
    const scope = { type: featureFlagType, namespace, name };
    const object: CountedFeatureFlag | undefined = await unlessNotFound(client.get(scope, signal));
    if (object === undefined) return undefined;
    const { uid = "", generation = 0 } = object.metadata;
    const agents = flagAgents({ uid, generation }, this.#reports.get(key) ?? noAgents);
    const { conditions, isNews } = this.#conditions(object, agents);
    if (!isNews && isSame(object.status?.agents, agents.counts)) return undefined;
    const metadata = { namespace, name, ...(uid === "" ? {} : { uid }) };
    const target = { type: featureFlagType, kind: "FeatureFlag", metadata };
    const version = `${uid} ${generation}`;
    const known = this.#written.get(key);
    const times = known?.version === version ? known.times : 0;
    const pauseMs = this.#writer.pauseLeftMs(
      target,
      isNews && times < promptWritesOfGeneration ? "news" : "counts",
    );
    if (pauseMs > 0) return { requeueAfterMs: pauseMs };
    await this.#writer.write(target, { agents: agents.counts, conditions }, signal);
    if (this.#stamps.has(key)) this.#written.set(key, { version, times: times + 1 });
    return undefined;
  }

  /** The new conditions. Another status, reason or generation is news; another message is not, because messages repeat the counts. */
  #conditions(
    { metadata, status }: CountedFeatureFlag,
    { verdicts }: FlagAgents,
  ): { readonly conditions: readonly Condition[]; readonly isNews: boolean } {
    const nowMs = this.#options.context.clock.now();
    const before = status?.conditions ?? [];
    const observedGeneration = metadata.generation ?? 0;
    let conditions: readonly Condition[] = [];
    const isSaid = (type: string): boolean => verdicts.some((verdict) => verdict.type === type);
    // The API server removes a condition that the next apply leaves out, which is news as well.
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
