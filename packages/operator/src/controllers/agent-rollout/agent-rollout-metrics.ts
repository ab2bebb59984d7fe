import { counter, defineMetrics, label, transientGauge, type MetricsOf } from "@bunting/runtime";
import { agentStates } from "../../upgrade/agent-record.js";

export const agentRolloutMetrics = defineMetrics({
  rolloutPods: transientGauge(
    "bunting_operator_rollout_pods",
    "Pods of an AgentRollout: desired (all that it is for), updated (they have its image), in-flight (they are getting it, or another one back), failed (they had to get their image of before back), waiting (it can't begin with them yet).",
    label<string>("rollout"),
    label("state", "desired", "updated", "in-flight", "failed", "waiting"),
  ),
  rolloutHalted: transientGauge(
    "bunting_operator_rollout_halted",
    "1 for an AgentRollout that has halted, because too many Pods failed.",
    label<string>("rollout"),
  ),
  rolloutChanged: counter(
    "bunting_operator_rollout_changes_total",
    "Steps that AgentRollouts have made with Pods, by the state that the Pod entered.",
    label("state", ...agentStates),
  ),
  rolloutRefused: counter(
    "bunting_operator_rollout_refusals_total",
    "Changes of Pods by AgentRollouts that an API server refused; changes by others at the same time do not count.",
  ),
});

/** What AgentRollouts count. */
export type AgentRolloutMetrics = MetricsOf<typeof agentRolloutMetrics>;
