import type { Registry } from "@bunting/runtime";
import { controllerMetrics } from "./controllers/controller-metrics.js";

/**
 * The metrics of all stages.
 *
 * @param registry where Prometheus reads them
 */
export function operatorMetrics(registry?: Registry) {
  return {
    ...controllerMetrics.create(registry),
  };
}
