import { counter, defineMetrics, label, transientGauge, type MetricsOf } from "@bunting/runtime";

export const missedPodsMetrics = defineMetrics({
  missedPods: transientGauge(
    "bunting_operator_missed_pods",
    "Running Pods that ask for flags and were given none, because neither the policy nor the webhook was there when they were created, or because their source came later.",
    label<string>("namespace"),
  ),
  evicted: counter(
    "bunting_operator_evictions_total",
    "Evictions of such Pods, by result: evicted, held back (by a PodDisruptionBudget), failed.",
    label("result", "evicted", "held-back", "failed"),
  ),
});

/** What missed Pods count; a test replaces what it looks at. */
export type MissedPodsMetrics = MetricsOf<typeof missedPodsMetrics>;
