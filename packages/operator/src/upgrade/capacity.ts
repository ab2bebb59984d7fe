import { hasEnded } from "@bunting/featureflags/resources";
import type { ClaimedPod } from "./claims.js";
import type { FleetBudget, FleetPod, FleetRollout } from "./fleet.js";
import { workloadLimit } from "./rollout-settings.js";
import { selects } from "./selects.js";

/** Why a Pod is not begun with now; the word is that of statuses and metrics. */
export const waitReasons = Object.freeze({
  NotReady: "they are not running and ready",
  Young: "they are too young",
  Refused: "an API server refuses to change them",
  Refusals: "an API server refuses to change as many others as spec.failureThreshold says",
  Changed: "somebody else has changed them meanwhile",
  Proxies: "a proxy does not say which sidecars have its flags",
  Wave: "those before them are not proven yet",
  Image: "their nodes do not have the image yet",
  MaxInFlight: "as many as may be are under way",
  Node: "others on their node are under way",
  Workload: "others of their workload are under way",
  WorkloadNotReady: "other Pods of their workload are not ready",
  DisruptionBudget: "a PodDisruptionBudget allows no more",
});
export type WaitReason = keyof typeof waitReasons;

/**
 * With more budgets, a namespace lets nothing begin: nobody has so many, and each of them would be compared with each Pod.
 */
const maxBudgets = 200;

/**
 * The room for further Pods, shared by all rollouts. A Pod that is under way counts against every limit, also against its PodDisruptionBudgets, whose
 * controller may not have seen yet that the Pod is not ready.
 */
export class Capacity {
  readonly #budgets = new Map<string, FleetBudget[]>();
  /** By workload: how many Pods it has, and which of those not under way are not ready. */
  readonly #sizes = new Map<string, number>();
  readonly #unready = new Map<string, Set<string>>();
  /** Pods under way, by rollout, node and workload. */
  readonly #counts = new Map<string, number>();
  readonly #inBudget = new Map<FleetBudget, number>();

  /** @param inFlight of these Pods, those that are under way */
  constructor(pods: readonly FleetPod[], budgets: readonly FleetBudget[], inFlight: readonly ClaimedPod[]) {
    for (const budget of budgets) {
      const known = this.#budgets.get(budget.namespace);
      if (known === undefined) this.#budgets.set(budget.namespace, [budget]);
      else known.push(budget);
    }
    const underWay = new Set(inFlight.map(({ pod }) => pod));
    for (const pod of pods) {
      if (hasEnded(pod)) continue;
      add(this.#sizes, pod.workload);
      if (underWay.has(pod) || (pod.isReady && !pod.isEnding)) continue;
      const unready = this.#unready.get(pod.workload);
      if (unready === undefined) this.#unready.set(pod.workload, new Set([pod.key]));
      else unready.add(pod.key);
    }
    for (const { pod, rollout } of inFlight) this.take(pod, rollout);
  }

  /** Why it may not be begun with the Pod; undefined if it may. */
  obstacle(pod: FleetPod, { uid, settings }: FleetRollout): WaitReason | undefined {
    if (pod.isHeld === true) return pod.refusal === undefined ? "Changed" : "Refused";
    if (this.#count("rollout", uid) >= settings.maxInFlight) return "MaxInFlight";
    if (this.#count("node", pod.node) >= settings.perNode) return "Node";
    // It is missing already: that it gets another image takes nothing from anybody.
    if (!pod.isReady) return undefined;
    const limit = workloadLimit(settings, this.#sizes.get(pod.workload) ?? 0);
    if (this.#count("workload", pod.workload) >= limit) return "Workload";
    const unready = this.#unready.get(pod.workload);
    if (unready !== undefined && unready.size > Number(unready.has(pod.key))) return "WorkloadNotReady";
    if ((this.#budgets.get(pod.namespace)?.length ?? 0) > maxBudgets) return "DisruptionBudget";
    const isHeld = this.#budgetsOf(pod).some(
      (budget) => budget.allowed - (this.#inBudget.get(budget) ?? 0) <= 0,
    );
    return isHeld ? "DisruptionBudget" : undefined;
  }

  /** The Pod is under way. */
  take(pod: FleetPod, { uid }: Pick<FleetRollout, "uid">): void {
    add(this.#counts, `rollout ${uid}`);
    add(this.#counts, `node ${pod.node}`);
    add(this.#counts, `workload ${pod.workload}`);
    for (const budget of this.#budgetsOf(pod)) add(this.#inBudget, budget);
  }

  #budgetsOf({ namespace, labels }: FleetPod): readonly FleetBudget[] {
    const budgets = this.#budgets.get(namespace) ?? [];
    if (budgets.length > maxBudgets) return [];
    return budgets.filter(({ selector }) => selector !== undefined && selects(selector, labels));
  }

  #count(of: "rollout" | "node" | "workload", name: string): number {
    return this.#counts.get(`${of} ${name}`) ?? 0;
  }
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
