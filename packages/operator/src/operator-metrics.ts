import { buildInfo, type Registry } from "@bunting/runtime";
import { tlsMetrics } from "@bunting/server";
import { admissionMetrics } from "./admission/admission-metrics.js";
import { certificateMetrics } from "./certificates/certificate-metrics.js";
import { agentRolloutMetrics } from "./controllers/agent-rollout/agent-rollout-metrics.js";
import { applyMetrics } from "./controllers/apply/apply-metrics.js";
import { controllerMetrics } from "./controllers/controller-metrics.js";
import { extensionMetrics } from "./controllers/extensions/extension-metrics.js";
import { flagRolloutMetrics } from "./controllers/push/flag-rollout-metrics.js";
import { missedPodsMetrics } from "./controllers/pods/missed-pods-metrics.js";
import { processOfOperatorMetrics } from "./process-of-operator-metrics.js";
import { version } from "./version.js";

export type OperatorMetrics = ReturnType<typeof operatorMetrics>;

/**
 * The metrics of all stages; docs/reference/operator-metrics.md is rendered from what is registered here.
 *
 * @param registry where Prometheus reads them
 */
export function operatorMetrics(registry?: Registry) {
  if (registry !== undefined) buildInfo(registry, "bunting_operator_build_info", version);
  return {
    ...processOfOperatorMetrics.create(registry),
    ...controllerMetrics.create(registry),
    ...applyMetrics.create(registry),
    ...certificateMetrics.create(registry),
    ...admissionMetrics.create(registry),
    ...missedPodsMetrics.create(registry),
    ...agentRolloutMetrics.create(registry),
    ...flagRolloutMetrics.create(registry),
    ...extensionMetrics.create(registry),
    tls: tlsMetrics("bunting_operator_webhook").create(registry),
  };
}
