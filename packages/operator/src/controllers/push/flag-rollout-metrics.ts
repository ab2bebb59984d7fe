import { flagRolloutPhases } from "@bunting/featureflags/resources";
import { counter, defineMetrics, label, type MetricsOf } from "@bunting/runtime";

export const flagRolloutMetrics = defineMetrics({
  flagRolloutEntered: counter(
    "bunting_operator_flag_rollout_phases_total",
    "Times that a version of a FeatureFlag with spec.rollout has entered a phase, or a further wave, as its status has it.",
    label("phase", ...flagRolloutPhases),
  ),
});

/** What rollouts of FeatureFlags count. */
export type FlagRolloutMetrics = MetricsOf<typeof flagRolloutMetrics>;
