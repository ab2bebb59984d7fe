import type { Context } from "@bunting/runtime";
import type { agentPrometheusMetrics } from "../management/prometheus-metrics.js";
import type { AgentOptions } from "../options.js";
import type * as agentParts from "./agent-parts.js";

export type AgentParts = typeof agentParts;

/** What every chapter of the wiring needs. */
export interface AgentWiring {
  readonly options: AgentOptions;
  readonly parts: AgentParts;
  readonly context: Context<ReturnType<typeof agentPrometheusMetrics>>;
}
