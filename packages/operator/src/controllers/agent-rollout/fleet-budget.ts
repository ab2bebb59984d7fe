import type { KubeObject, LabelSelector } from "@bunting/kube";
import type { FleetBudget } from "../../upgrade/fleet.js";

/** A PodDisruptionBudget as it is kept in memory. */
export interface StoredBudget extends KubeObject {
  readonly budget: FleetBudget;
}

interface LiveBudget extends KubeObject {
  readonly spec?: { readonly selector?: LabelSelector | null };
  readonly status?: { readonly disruptionsAllowed?: number; readonly observedGeneration?: number };
}

/** Longer selectors are not kept: such a budget holds all Pods of its namespace. Whoever may create budgets could fill the operator's memory with them. */
const maxSelectorLength = 2_048;

/** What a PodDisruptionBudget allows. Until its controller has seen the present spec, that is nothing. */
export function storedBudget(object: KubeObject): StoredBudget {
  const { metadata, spec = {}, status = {} } = object as LiveBudget;
  const { name, namespace = "", uid = "", resourceVersion = "", generation } = metadata;
  const isCurrent = (status.observedGeneration ?? 0) >= (generation ?? 0);
  const allowed = isCurrent ? (status.disruptionsAllowed ?? 0) : 0;
  const { selector } = spec;
  const isTooLong = JSON.stringify(selector ?? null).length > maxSelectorLength;
  const rest = selector === undefined || selector === null ? {} : { selector };
  return {
    metadata: { name, namespace, uid, resourceVersion },
    budget: { namespace, name, ...(isTooLong ? { selector: {}, allowed: 0 } : { ...rest, allowed }) },
  };
}
