import type { PeerMemory, PortListener } from "@bunting/server";
import type { CreatedAccess } from "../access/create-access.js";
import type { ProxyStatus } from "../management/proxy-status.js";
import type { StatusObservations } from "../management/status/status-observations.js";
import type { ProxyReadiness } from "../service/proxy-readiness.js";
import type { TopicRegistry } from "../topic/topic-registry.js";
import { version } from "../version.js";
import type { ProxyWiring } from "./proxy-parts.js";
import type { SyncServices } from "./sync-services.js";

export interface StatusOfProxyParts {
  readonly observations: StatusObservations;
  readonly fromMonotonic: (ms: number) => number;
  readonly readiness: ProxyReadiness;
  readonly topics: TopicRegistry;
  readonly access: CreatedAccess;
  readonly services: SyncServices;
  readonly memory: PeerMemory;
  readonly port: PortListener;
}

/** /status. */
export function statusOfProxy(wiring: ProxyWiring, shown: StatusOfProxyParts): ProxyStatus {
  const { options, parts, context } = wiring;
  const { observations, fromMonotonic, readiness, topics, access, services, memory, port } = shown;
  return new parts.ProxyStatus(
    {
      version,
      startedMs: context.clock.monotonicMs(),
      clock: context.clock,
      fromMonotonic,
      observations,
      memory,
      readiness: () => readiness.check(),
      topics: () => topics.topics(),
      grants: access.grants,
      watches: () => context.metrics.watchCounts.read(),
      backplane: () => context.metrics.backplaneReport.read(),
      programs: () => services.programs.all,
      leftBehind: () => services.leftBehind.all,
      connections: () => port.sessions.size,
    },
    options.status,
    access.pages,
  );
}
