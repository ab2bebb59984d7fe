import { agentPrometheusMetrics as agentMetrics } from "@bunting/agent/internal/management/prometheus-metrics.js";
import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import { proxyMetrics } from "@bunting/proxy/internal/proxy-metrics.js";
import { createRegistry } from "@bunting/runtime";

/** What queries may name. */
export interface DeclaredMetric {
  readonly kind: string;
  readonly labels: readonly string[];
}

/** The metrics of all binaries, by name, as they register them. */
export function declaredMetrics(): ReadonlyMap<string, DeclaredMetric> {
  // The proxy's has those of the process, too.
  const registry = createRegistry(true);
  proxyMetrics(registry);
  const agents = createRegistry(false);
  const ofAgents = agentMetrics(agents);
  ofAgents.watches();
  ofAgents.remotes();
  const operators = createRegistry(false);
  operatorMetrics(operators);
  const registries = [registry, agents, operators];
  const all = registries.flatMap((each) => each.getMetricsAsArray()) as unknown as Registered[];
  registry.clear();
  return new Map(
    all.map(({ name, type, labelNames = [] }) => [name, { kind: type ?? "histogram", labels: labelNames }]),
  );
}

/** What prom-client's metrics, and our own, have beside what their types say. */
interface Registered {
  readonly name: string;
  readonly type?: string;
  readonly labelNames?: readonly string[];
}
