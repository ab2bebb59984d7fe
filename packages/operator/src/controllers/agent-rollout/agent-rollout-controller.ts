import {
  KubeError,
  type ClusterWatches,
  type EventRecorder,
  type KubeObject,
  type RestClient,
  type RunningInformer,
} from "@bunting/kube";
import { isAborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { agentRolloutApiVersion, agentRolloutType, type AgentRollout } from "../../api/agent-rollout.js";
import type { PodChange } from "../../upgrade/agent-step.js";
import type { Fleet, FleetRollout } from "../../upgrade/fleet.js";
import { planFleet, type FleetPlan, type RolloutVerdict } from "../../upgrade/plan.js";
import { rolloutSettings } from "../../upgrade/rollout-settings.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { podType } from "../../api/core-types.js";
import type { OwnPlace } from "../own-place.js";
import type { AgentRolloutMetrics } from "./agent-rollout-metrics.js";
import type { ProxyAgents } from "../agents/proxy-agents.js";
import { FleetWatches } from "./fleet-watches.js";
import { ImagePulls } from "./image-pulls.js";
import { RefusedPods } from "./refused-pods.js";
import { ServedAgents } from "./served-agents.js";
import { upgradePatch } from "./upgrade-patch.js";
import { RolloutStatuses } from "./rollout-statuses.js";

export interface AgentRolloutControllerOptions {
  readonly client: Pick<RestClient, "patch" | "apply" | "create" | "delete">;
  readonly watches: ClusterWatches;
  readonly events: Pick<EventRecorder, "record">;
  readonly namespaces: {
    /** The operator's. */
    readonly own: string;
    /** Secrets of that, with which nodes pull images. */
    readonly pullSecrets: readonly string[];
    readonly place: (signal: AbortSignal) => Promise<OwnPlace>;
    /** Namespaces whose Pods are left alone. */
    readonly exempt: ReadonlySet<string>;
  };
  /** Who say which sidecars have their flags; undefined if nobody asks them. */
  readonly proxies: Pick<ProxyAgents, "readOf"> | undefined;
  readonly context: Context<ControllerMetrics & AgentRolloutMetrics>;
}

type StoredRollout = AgentRollout & KubeObject;

/** All rollouts share the budgets, so they are planned together. */
const fleetKey = "fleet";
/** Changes come in bursts. Where proxies are asked each time, that costs them something. */
const settleMs = 100;
const settleAskingMs = 1_000;
/** Steps that are due and can't be made are tried again after that. */
const overdueMs = 1_000;
const fieldManager = "bunting-operator-agent-rollout";

/**
 * Gives running sidecars the images that AgentRollouts ask for: it reads the fleet, has it planned (planFleet), changes Pods, and writes statuses. Only
 * the leader runs it.
 *
 * Invariants:
 * - All AgentRollouts are reconciled together, under one key: they share the budgets.
 * - All that decides is in the Pods or in the statuses as well, so another leader goes on from there. What is held here is who refused what lately
 *   (RefusedPods, ImagePulls), and what was written and no watch has reported (FleetWatches, RolloutStatuses).
 * - A Pod that an API server has refused to change is left alone for a while; other Pods go on.
 * - A sidecar is given another image only once the proxies have said whether it has what they serve (ServedAgents).
 * - While there is no AgentRollout, no Pod is watched for it.
 */
export class AgentRolloutController implements Runnable {
  readonly name = "agent rollouts";
  readonly #options: AgentRolloutControllerOptions;
  readonly #controller: Controller;
  readonly #fleet: FleetWatches;
  readonly #statuses: RolloutStatuses;
  readonly #refused: RefusedPods;
  readonly #served: ServedAgents;
  readonly #pulls: ImagePulls;
  readonly #settleMs: number;
  #rollouts: RunningInformer<StoredRollout, never> | undefined;
  /** The names of rollouts that metrics have values of. */
  #measured: ReadonlySet<string> = new Set();

  constructor(options: AgentRolloutControllerOptions) {
    const { client, watches, events, namespaces, proxies, context } = options;
    const { own, pullSecrets, place } = namespaces;
    this.#options = options;
    this.#controller = new Controller({
      name: "agent-rollout",
      reconcile: (_key, signal) => this.#reconcile(signal),
      context,
    });
    this.#fleet = new FleetWatches(watches, namespaces, () => this.#changed());
    this.#statuses = new RolloutStatuses(client, events, context);
    this.#refused = new RefusedPods(context.clock);
    this.#served = new ServedAgents(proxies);
    this.#pulls = new ImagePulls({ client, namespace: own, pullSecrets, place, context });
    this.#settleMs = proxies === undefined ? settleMs : settleAskingMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#statuses.clear();
    this.#refused.clear();
    this.#pulls.clear();
    this.#rollouts = this.#options.watches.inform<StoredRollout>(
      { type: agentRolloutType },
      { handler: { changed: () => this.#changed(), synced: () => this.#changed() } },
    );
    await Promise.all([this.#rollouts.run(signal), this.#controller.run(signal)]);
    await this.#fleet.stop();
    this.#measure([]);
  }

  #changed(): void {
    this.#controller.after(fleetKey, this.#settleMs);
  }

  async #reconcile(signal: AbortSignal): Promise<WorkResult | undefined> {
    const stored = [...(this.#rollouts?.informer.store.list() ?? [])];
    const uids = new Set(stored.map(({ metadata: { uid = "" } }) => uid));
    this.#statuses.keep(uids);
    this.#pulls.keep(uids);
    if (stored.length === 0) {
      this.#refused.clear();
      await this.#fleet.stop();
      this.#measure([]);
      return undefined;
    }
    this.#fleet.begin(signal);
    const { fleet: watched } = this.#fleet;
    // A watch that syncs is a change, too.
    if (watched === undefined) return undefined;
    const fleet = await this.#fleetOf(watched, stored, signal);
    const nowMs = this.#options.context.clock.now();
    const plan = planFleet(fleet, nowMs);
    await this.#make(plan, fleet.rollouts, signal);
    this.#measure(plan.verdicts);
    const statusMs = await this.#write(stored, plan.verdicts, signal);
    const requeueAfterMs = this.#nextMs(fleet, plan.dueMs - nowMs, statusMs);
    return requeueAfterMs === Infinity ? undefined : { requeueAfterMs };
  }

  /** Facts that a plan is made from: the watched objects, the refusals of API servers about Pods and pulls, and the reports of the proxies. */
  async #fleetOf(
    watched: Omit<Fleet, "rollouts">,
    stored: readonly StoredRollout[],
    signal: AbortSignal,
  ): Promise<Fleet> {
    const rollouts = stored.map((each) => this.#rolloutOf(each));
    const pods = await this.#served.told(this.#refused.mark(watched.pods), signal);
    const pulls = this.#pulls.withRefused(watched.pulls ?? []);
    return { ...watched, rollouts, pods, pulls, areProxiesUnknown: this.#served.isUnknown };
  }

  #rolloutOf(rollout: StoredRollout): FleetRollout {
    const { name, uid = "" } = rollout.metadata;
    const created: unknown = rollout.metadata["creationTimestamp"];
    const progress = this.#statuses.progress(rollout);
    return {
      ...{ name, uid, createdMs: typeof created === "string" ? Date.parse(created) : 0 },
      settings: rolloutSettings(rollout.spec),
      ...(progress === undefined ? {} : { progress }),
    };
  }

  async #make(
    { changes, verdicts }: FleetPlan,
    rollouts: Fleet["rollouts"],
    signal: AbortSignal,
  ): Promise<void> {
    for (const change of await this.#served.noted(changes, signal))
      if (change.pod.isHeld !== true) await this.#change(change, rollouts, signal);
    for (const { pulls, rollout } of verdicts) await this.#pulls.make(pulls, rollout, signal);
  }

  async #change(change: PodChange, rollouts: Fleet["rollouts"], signal: AbortSignal): Promise<void> {
    const { client, context } = this.#options;
    const { pod, record } = change;
    const [namespace = "", name = ""] = pod.key.split("/");
    try {
      const scope = { type: podType, namespace, name };
      this.#fleet.written(
        await client.patch(scope, "json", upgradePatch(change), signal, { query: { fieldManager } }),
      );
    } catch (error) {
      if (isAborted(signal) || !(error instanceof KubeError) || !isOfPod(error)) throw error;
      this.#refuse(change, rollouts, error);
      return;
    }
    this.#refused.changed(pod);
    context.metrics.rolloutChanged(record.state);
    context.logger.info({ pod: pod.key, state: record.state, image: change.image }, "a sidecar is upgraded");
    if (record.why !== undefined && (record.state === "failing" || record.state === "failed"))
      this.#tell(change, rollouts, "UpgradeFailed", record.why);
  }

  #refuse(change: PodChange, rollouts: Fleet["rollouts"], error: KubeError): void {
    const why = this.#refused.note(change.pod, error);
    if (why === undefined) return;
    this.#options.context.metrics.rolloutRefused();
    this.#tell(change, rollouts, "UpgradeRefused", `Its sidecar can't be given ${change.image}: ${why}`);
  }

  #tell({ pod, record }: PodChange, rollouts: Fleet["rollouts"], reason: string, note: string): void {
    const [namespace = "", name = ""] = pod.key.split("/");
    const rollout = rollouts.find(({ uid }) => uid === record.rollout);
    const related = rollout && {
      ...{ apiVersion: agentRolloutApiVersion, kind: "AgentRollout" },
      ...{ name: rollout.name, uid: rollout.uid },
    };
    this.#options.events.record({
      regarding: { apiVersion: "v1", kind: "Pod", namespace, name, uid: pod.uid },
      ...(related === undefined ? {} : { related }),
      ...{ type: "Warning", reason, action: "Upgrade", note },
    });
  }

  /** @returns after how long statuses have to be written again, in ms; Infinity if all are written */
  async #write(
    stored: readonly StoredRollout[],
    verdicts: readonly RolloutVerdict[],
    signal: AbortSignal,
  ): Promise<number> {
    let leftMs = Infinity;
    for (const rollout of stored) {
      const verdict = verdicts.find((each) => each.rollout.uid === rollout.metadata.uid);
      if (verdict === undefined) continue;
      const begunMs = verdict.rollout.progress?.sinceMs;
      leftMs = Math.min(leftMs, await this.#statuses.write(rollout, verdict, signal));
      // A rollout begins with a progress that is written: nothing was planned for this one yet.
      if (begunMs !== verdict.progress.sinceMs) leftMs = 0;
    }
    return leftMs;
  }

  /** After how long to look again although nothing changes, in ms; Infinity: not at all. */
  #nextMs({ pods }: Fleet, planMs: number, statusMs: number): number {
    const isAsked = this.#served.isUnknown || pods.some(({ agent }) => agent?.served !== undefined);
    const proxiesMs = isAsked ? settleAskingMs : Infinity;
    const soonestMs = Math.min(Math.max(planMs, overdueMs), statusMs, this.#refused.leftMs, proxiesMs);
    return Math.max(this.#settleMs, soonestMs);
  }

  #measure(verdicts: readonly RolloutVerdict[]): void {
    const { metrics } = this.#options.context;
    const named = new Set(verdicts.map(({ rollout }) => rollout.name));
    for (const name of this.#measured) {
      if (named.has(name)) continue;
      for (const state of measuredStates) metrics.rolloutPods(name, state, 0);
      metrics.rolloutHalted(name, 0);
    }
    for (const { rollout, desired, updated, inFlight, progress, waiting } of verdicts) {
      const { name } = rollout;
      const waits = [...waiting.values()].reduce((sum, pods) => sum + pods, 0);
      const values = [desired, updated, inFlight, progress.failures.length, waits];
      for (const [index, state] of measuredStates.entries())
        metrics.rolloutPods(name, state, values[index] ?? 0);
      metrics.rolloutHalted(name, progress.halted === undefined ? 0 : 1);
    }
    this.#measured = named;
  }
}

const measuredStates = ["desired", "updated", "in-flight", "failed", "waiting"] as const;

const ofPod: ReadonlySet<KubeError["code"]> = new Set(["CONFLICT", "NOT_FOUND", "INVALID", "FORBIDDEN"]);

/** True for an error that is about one Pod, so that others can be changed. Where a webhook can't be called, the error is an internal one. */
function isOfPod({ code, reason }: KubeError): boolean {
  return ofPod.has(code) || reason === "InternalError";
}
