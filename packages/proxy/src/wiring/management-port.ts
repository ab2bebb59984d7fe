import type { Method } from "@bunting/rpc";
import { chargeAnswer, type PeerMemory, type PortListener, type TlsTermination } from "@bunting/server";
import type { Registry } from "@bunting/runtime";
import type { PageAccess } from "../access/page-access.js";
import { guardPage } from "../management/page-guard.js";
import type { ProxyStatus } from "../management/proxy-status.js";
import type { ProxyReadiness } from "../service/proxy-readiness.js";
import type { ProxyWiring } from "./proxy-wiring.js";
import { endpointOf, type PortEvents } from "./sync-limits.js";

export interface ProxyManagementParts {
  readonly readiness: ProxyReadiness;
  readonly healthMethods: readonly Method[];
  readonly registry: Registry;
  readonly status: ProxyStatus;
  readonly pages: PageAccess | undefined;
  /** That of the sync port, of which this port's has a part as its size. */
  readonly syncMemory: PeerMemory;
  readonly tls: TlsTermination | undefined;
  readonly events: PortEvents;
}

export interface ManagementPort {
  readonly port: PortListener;
  readonly memory: PeerMemory;
}

/** The port of probes, metrics and /status. */
export function proxyManagementPort(wiring: ProxyWiring, ports: ProxyManagementParts): ManagementPort {
  const { options, parts, context } = wiring;
  const { readiness, healthMethods, registry, status, pages, syncMemory, tls, events } = ports;
  // A ledger of its own, so that probes are answered while the sync port is under attack, and one that always has room for them.
  const memory = new parts.PeerMemory(syncMemory.budgetBytes / 8, "any");
  const port = new parts.PortListener({
    endpoint: endpointOf(options.managementPort, options.host),
    optionName: "--management-port",
    logger: context.logger,
    tls,
    memory,
    ...events,
    grpc: new parts.GrpcServer({ methods: healthMethods, logger: context.logger, clock: context.clock }),
    http: parts.managementHandler(() => readiness.check(), registry, {
      pages: new Map([["/status", status.page]]),
      onMetrics: chargeAnswer,
      ...(pages === undefined || options.managementAuth === "off"
        ? {}
        : { guardMetrics: (metricsPage) => guardPage(pages, "/metrics", metricsPage) }),
    }),
  });
  return { port, memory };
}
