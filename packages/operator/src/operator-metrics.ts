import type { Registry } from "@bunting/runtime";
import { applyMetrics } from "./controllers/apply/apply-metrics.js";
import { controllerMetrics } from "./controllers/controller-metrics.js";

/**
 * The metrics of all stages.
 *
 * @param registry where Prometheus reads them
 */
export function operatorMetrics(registry?: Registry) {
  return {
    ...controllerMetrics.create(registry),
    ...applyMetrics.create(registry),
  };
}
