import { counter, defineMetrics, label, type MetricsOf } from "@bunting/runtime";

/** Managers of tools that are in use. Whoever may write an object may name others, as many as they like: all of those are `other`. */
export const knownManagers = [
  "argocd-controller",
  "flux",
  "helm",
  "helm-controller",
  "kube-controller-manager",
  "kubectl",
  "kubectl-client-side-apply",
  "kubectl-edit",
  "kubectl-patch",
  "kustomize-controller",
  "manager",
] as const;

export type KnownManager = (typeof knownManagers)[number] | "other";

export const applyMetrics = defineMetrics({
  drifted: counter(
    "bunting_operator_drift_total",
    "Fields of our objects that others had changed: those of managers that update are put back, those of managers that apply stay.",
    label<string>("kind"),
    label<KnownManager>("manager"),
  ),
});

/** What applying counts; a test replaces what it looks at. */
export type ApplyMetrics = MetricsOf<typeof applyMetrics>;

/** The label of a manager. */
export function managerLabel(manager: string): KnownManager {
  return knownManagers.find((known) => known === manager) ?? "other";
}
