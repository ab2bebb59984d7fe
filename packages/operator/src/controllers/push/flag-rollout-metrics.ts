import { flagRolloutPhases } from "@bunting/featureflags/resources";
import { counter, defineMetrics, label, transientGauge, type MetricsOf } from "@bunting/runtime";

export const flagRolloutMetrics = defineMetrics({
  flagRolloutEntered: counter(
    "bunting_operator_flag_rollout_phases_total",
    "Times that a version of a FeatureFlag with spec.rollout has entered a phase, or a further wave, as its status has it.",
    label("phase", ...flagRolloutPhases),
  ),
  flagRolloutHalted: transientGauge(
    "bunting_operator_flag_rollout_halted",
    "1 for a FeatureFlag whose newest version has halted on its way to all agents, because agents complain of it.",
    label<string>("flag"),
  ),
});

/** What rollouts of FeatureFlags count. */
export type FlagRolloutMetrics = MetricsOf<typeof flagRolloutMetrics>;
