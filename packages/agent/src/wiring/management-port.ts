import { healthService, type ReadinessHealth } from "@bunting/rpc";
import { chargeAnswer, type PortListener } from "@bunting/server";
import type { Registry } from "@bunting/runtime";
import { agentStatus } from "../management/agent-status.js";
import type { AgentReadiness } from "../management/agent-readiness.js";
import type { StartLimits } from "../management/start-limits.js";
import type { AgentWiring } from "./agent-wiring.js";
import type { FlagGenerations } from "./flag-generations.js";
import { grpcCalls, type PortLimits } from "./port-limits.js";

export interface AgentManagementParts {
  readonly start: StartLimits;
  readonly readiness: AgentReadiness;
  readonly health: ReadinessHealth;
  readonly registry: Registry;
  readonly flags: Pick<FlagGenerations, "status">;
  readonly limits: PortLimits;
}

/** The port of probes and metrics. */
export function agentManagementPort(
  wiring: AgentWiring,
  { start, readiness, health, registry, flags, limits }: AgentManagementParts,
): PortListener {
  const { options, parts, context } = wiring;
  const status = agentStatus({
    readiness: () => readiness.check(),
    sources: () => flags.status(),
    clock: context.clock,
  });
  return new parts.PortListener({
    ...parts.endpoints(options).managementEndpoint,
    ...limits.listening,
    // Of its own, so that probes are answered while the other ports are under attack, and always with room for them.
    memory: new parts.PeerMemory(limits.memory.budgetBytes / 8, "any"),
    grpc: grpcCalls(wiring, healthService(health)),
    http: parts.managementHandler(() => readiness.check(), registry, {
      onMetrics: chargeAnswer,
      notStarted: () => start.notStarted(),
      pages: new Map([["/status", status]]),
    }),
  });
}
