import type { PortListener } from "@bunting/server";
import type { Component } from "@bunting/runtime";
import type { AgentWiring } from "./agent-wiring.js";
import type { ApplicationPorts } from "./application-ports.js";
import type { FlagServices } from "./flag-services.js";

export interface ServingComponentsParts {
  readonly management: PortListener;
  readonly ports: ApplicationPorts;
  readonly services: FlagServices;
}

/** Clients that ask ten times a second or more on a connection lose no question when the agent stops. */
const lastCallMs = 100;

/** The ports as components: how each of them ends what clients have open. Those of applications stop together, because each waits while it stops. */
export function servingComponents(
  { parts, context }: AgentWiring,
  { management, ports, services }: ServingComponentsParts,
): Readonly<Record<"management" | "applications", Component>> {
  const { events, sse, sync } = services;
  const ofApplications = [
    parts.servingComponent({
      name: "ofrep",
      reason: "called by applications",
      port: ports.ofrep,
      logger: context.logger,
      stopping: { lastCallMs, ...(sse && { drainHttp: () => sse.drain() }) },
    }),
    ...(ports.syncHttp === undefined ? [] : [ports.syncHttp]),
    parts.servingComponent({
      name: "sync",
      reason: "called by applications",
      port: ports.sync,
      logger: context.logger,
      stopping: { lastCallMs, drain: (stream) => sync.drain(stream), onStopped: () => sync.shutdown() },
    }),
    parts.servingComponent({
      name: "evaluation",
      reason: "called by applications",
      port: ports.evaluation,
      logger: context.logger,
      stopping: {
        lastCallMs,
        drain: (stream) => events.drain(stream),
        drainHttp: () => events.drainHttp(),
        onStopped: () => events.shutdown(),
      },
    }),
  ];
  return {
    management: parts.servingComponent({
      name: "management",
      reason: "starts first and stops last: probes and Prometheus see the start and the drain",
      port: management,
      logger: context.logger,
    }),
    applications: parts.stoppedTogether(
      "application-ports",
      "start last and stop first: everything else still runs for the calls in progress",
      ofApplications,
    ),
  };
}
