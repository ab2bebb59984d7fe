import { collectDefaultMetrics, Registry } from "prom-client";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/**
 * Each service has its own registry; nothing is registered globally.
 *
 * @param processMetrics also collect CPU, memory, event loop and garbage collection of the process, with prom-client's names.
 */
export function createRegistry(processMetrics: boolean): Registry {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });
  return registry;
}
