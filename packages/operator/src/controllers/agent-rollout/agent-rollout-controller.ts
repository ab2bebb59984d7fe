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
import type { Fleet, FleetPod, FleetRollout } from "../../upgrade/fleet.js";
import { planFleet, type RolloutVerdict } from "../../upgrade/plan.js";
import { rolloutSettings } from "../../upgrade/rollout-settings.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { podType } from "../../api/core-types.js";
import type { AgentRolloutMetrics } from "./agent-rollout-metrics.js";
import { FleetWatches } from "./fleet-watches.js";
import { upgradePatch } from "./upgrade-patch.js";
import { RolloutStatuses } from "./rollout-statuses.js";

export interface AgentRolloutControllerOptions {
  readonly client: Pick<RestClient, "patch" | "apply">;
  readonly watches: ClusterWatches;
  readonly events: Pick<EventRecorder, "record">;
  /** Namespaces whose Pods are left alone. */
  readonly exempt: ReadonlySet<string>;
  readonly context: Context<ControllerMetrics & AgentRolloutMetrics>;
}

type StoredRollout = AgentRollout & KubeObject;

/** All rollouts share the budgets, so they are planned together. */
const fleetKey = "fleet";
/** Changes come in bursts. */
const settleMs = 100;
/** Steps that are due and can't be made are tried again after that. */
const overdueMs = 1_000;
/** For so long a Pod is left alone that an API server has refused to change. */
const heldMs = 30_000;
const fieldManager = "bunting-operator-agent-rollout";

/** A change of a Pod that an API server has refused, and the version of the Pod then. */
interface Refusal {
  readonly resourceVersion: string;
  readonly untilMs: number;
}

/**
 * Gives running sidecars the images that AgentRollouts ask for: it reads what there is, has it planned, and writes. It keeps nothing that is not in the
 * Pods or in the status as well, so another leader goes on from there. While there is no AgentRollout, no Pod is watched for it.
 */
export class AgentRolloutController implements Runnable {
  readonly name = "agent rollouts";
  readonly #options: AgentRolloutControllerOptions;
  readonly #controller: Controller;
  readonly #fleet: FleetWatches;
  readonly #statuses: RolloutStatuses;
  /** By uid of the Pod. */
  readonly #refused = new Map<string, Refusal>();
  #rollouts: RunningInformer<StoredRollout, never> | undefined;
  #measured: ReadonlySet<string> = new Set();

  constructor(options: AgentRolloutControllerOptions) {
    const { client, watches, events, exempt, context } = options;
    this.#options = options;
    this.#controller = new Controller({
      name: "agent-rollout",
      reconcile: (_key, signal) => this.#reconcile(signal),
      context,
    });
    this.#fleet = new FleetWatches(watches, exempt, () => this.#changed());
    this.#statuses = new RolloutStatuses(client, events, context);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#statuses.clear();
    this.#refused.clear();
    this.#rollouts = this.#options.watches.inform<StoredRollout>(
      { type: agentRolloutType },
      { handler: { changed: () => this.#changed(), synced: () => this.#changed() } },
    );
    await Promise.all([this.#rollouts.run(signal), this.#controller.run(signal)]);
    await this.#fleet.stop();
    this.#measure([]);
  }

  #changed(): void {
    this.#controller.after(fleetKey, settleMs);
  }

  async #reconcile(signal: AbortSignal): Promise<WorkResult | undefined> {
    const stored = [...(this.#rollouts?.informer.store.list() ?? [])];
    this.#statuses.keep(new Set(stored.map(({ metadata: { uid = "" } }) => uid)));
    if (stored.length === 0) {
      await this.#fleet.stop();
      this.#measure([]);
      return undefined;
    }
    this.#fleet.begin(signal);
    const { fleet } = this.#fleet;
    if (fleet === undefined) return undefined;
    const nowMs = this.#options.context.clock.now();
    const rollouts = stored.map((each) => this.#rolloutOf(each));
    const pods = fleet.pods.map((pod) => this.#held(pod));
    const { changes, verdicts, dueMs } = planFleet({ ...fleet, rollouts, pods }, nowMs);
    for (const change of changes) {
      if (this.#isHeld(change.pod)) continue;
      await this.#make(change, rollouts, signal);
    }
    this.#measure(verdicts);
    const waits = await this.#write(stored, verdicts, signal);
    const requeueAfterMs = Math.max(
      settleMs,
      Math.min(Math.max(dueMs - nowMs, overdueMs), waits, this.#heldLeftMs()),
    );
    return requeueAfterMs === Infinity ? undefined : { requeueAfterMs };
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

  async #write(
    stored: readonly StoredRollout[],
    verdicts: readonly RolloutVerdict[],
    signal: AbortSignal,
  ): Promise<number> {
    let leftMs = Infinity;
    for (const rollout of stored) {
      const verdict = verdicts.find((each) => each.rollout.uid === rollout.metadata.uid);
      if (verdict === undefined) continue;
      const begun = verdict.rollout.progress?.sinceMs;
      leftMs = Math.min(leftMs, await this.#statuses.write(rollout, verdict, signal));
      // Only what is written counts, so that nothing was begun yet.
      if (begun !== verdict.progress.sinceMs) leftMs = 0;
    }
    return leftMs;
  }

  async #make(change: PodChange, rollouts: Fleet["rollouts"], signal: AbortSignal): Promise<void> {
    const { client, context } = this.#options;
    const { pod, record } = change;
    const [namespace = "", name = ""] = pod.key.split("/");
    try {
      const scope = { type: podType, namespace, name };
      this.#fleet.written(
        await client.patch(scope, "json", upgradePatch(change), signal, { query: { fieldManager } }),
      );
    } catch (error) {
      if (isAborted(signal) || !(error instanceof KubeError) || !ofPod.has(error.code)) throw error;
      this.#refuse(change, rollouts, error);
      return;
    }
    context.metrics.rolloutChanged(record.state);
    context.logger.info({ pod: pod.key, state: record.state, image: change.image }, "a sidecar is upgraded");
    if (record.why !== undefined && (record.state === "failing" || record.state === "failed"))
      this.#tell(change, rollouts, "UpgradeFailed", record.why);
  }

  /** Somebody else may have changed the Pod, and the watch will tell. Or it is never accepted, which people have to know. */
  #refuse(change: PodChange, rollouts: Fleet["rollouts"], error: KubeError): void {
    const { clock, metrics } = this.#options.context;
    const { uid, resourceVersion } = change.pod;
    this.#refused.set(uid, { resourceVersion, untilMs: clock.monotonicMs() + heldMs });
    if (error.code === "CONFLICT" || error.code === "NOT_FOUND") return;
    metrics.rolloutRefused();
    this.#tell(
      change,
      rollouts,
      "UpgradeRefused",
      `Its sidecar can't be given ${change.image}: ${error.message}`,
    );
  }

  #tell({ pod, record }: PodChange, rollouts: Fleet["rollouts"], reason: string, note: string): void {
    const [namespace = "", name = ""] = pod.key.split("/");
    const rollout = rollouts.find(({ uid }) => uid === record.rollout);
    const related =
      rollout === undefined
        ? {}
        : {
            related: {
              ...{ apiVersion: agentRolloutApiVersion, kind: "AgentRollout" },
              ...{ name: rollout.name, uid: rollout.uid },
            },
          };
    this.#options.events.record({
      regarding: { apiVersion: "v1", kind: "Pod", namespace, name, uid: pod.uid },
      ...related,
      ...{ type: "Warning", reason, action: "Upgrade", note },
    });
  }

  #isHeld({ uid, resourceVersion }: FleetPod): boolean {
    const refusal = this.#refused.get(uid);
    if (refusal === undefined) return false;
    const isHeld =
      refusal.resourceVersion === resourceVersion &&
      this.#options.context.clock.monotonicMs() < refusal.untilMs;
    if (!isHeld) this.#refused.delete(uid);
    return isHeld;
  }

  #held(pod: FleetPod): FleetPod {
    return this.#isHeld(pod) ? { ...pod, isHeld: true } : pod;
  }

  #heldLeftMs(): number {
    const nowMs = this.#options.context.clock.monotonicMs();
    // A refusal that nobody has asked for again is of a Pod that is gone.
    for (const [uid, { untilMs }] of this.#refused) if (untilMs + heldMs < nowMs) this.#refused.delete(uid);
    return Math.min(Infinity, ...Array.from(this.#refused.values(), ({ untilMs }) => untilMs - nowMs));
  }

  #measure(verdicts: readonly RolloutVerdict[]): void {
    const { metrics } = this.#options.context;
    const named = new Set(verdicts.map(({ rollout }) => rollout.name));
    for (const name of this.#measured) {
      if (named.has(name)) continue;
      for (const state of measuredStates) metrics.rolloutPods(name, state, 0);
      metrics.rolloutHalted(name, 0);
    }
    for (const {
      rollout: { name },
      desired,
      updated,
      inFlight,
      progress,
      waiting,
    } of verdicts) {
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

/** Errors that are about one Pod, so that others can be changed. */
const ofPod: ReadonlySet<KubeError["code"]> = new Set(["CONFLICT", "NOT_FOUND", "INVALID", "FORBIDDEN"]);
