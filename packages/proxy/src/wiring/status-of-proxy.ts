import { hostname } from "node:os";
import type { CallerTokens, PeerMemory, PortListener } from "@bunting/server";
import type { CreatedAccess } from "../access/create-access.js";
import type { ProxyStatus } from "../management/proxy-status.js";
import type { StatusObservations } from "../management/status/status-observations.js";
import type { ProxyReadiness } from "../service/proxy-readiness.js";
import type { FlagSource } from "../source/flag-source.js";
import type { TopicRegistry } from "../topic/topic-registry.js";
import { version } from "../version.js";
import type { ProxyWiring } from "./proxy-wiring.js";
import type { SyncServices } from "./sync-services.js";

export interface StatusOfProxyParts {
  readonly observed: {
    readonly observations: StatusObservations;
    readonly fromMonotonic: (ms: number) => number;
  };
  readonly readiness: ProxyReadiness;
  /** Where flags come from, and whom they go to. */
  readonly flags: { readonly source: FlagSource; readonly topics: TopicRegistry };
  readonly access: CreatedAccess;
  /** Those of --status-token-file. */
  readonly tokens: CallerTokens | undefined;
  /** What agents connect to. */
  readonly sync: {
    readonly services: SyncServices;
    readonly memory: PeerMemory;
    readonly port: PortListener;
  };
}

export function statusOfProxy(wiring: ProxyWiring, shown: StatusOfProxyParts): ProxyStatus {
  const { options, parts, context } = wiring;
  const { readiness, access, tokens } = shown;
  const { source, topics } = shown.flags;
  const { observations, fromMonotonic } = shown.observed;
  const { services, memory, port } = shown.sync;
  const { clock, metrics } = context;
  return new parts.ProxyStatus(
    {
      replica: {
        // In a pod both are its name; on the network of its node only the first may be.
        name: process.env["HOSTNAME"] ?? hostname(),
        version,
        startedMs: clock.monotonicMs(),
        memory,
        readiness: () => readiness.check(),
        connections: () => port.sessions.size,
      },
      clocks: { clock, fromMonotonic },
      observations,
      sources: {
        watches: () => metrics.watchCounts.read(),
        backplane: () => metrics.backplaneReport.read(),
        remoteOf: (topic) => source.remoteOf?.(topic),
      },
      topics: () => topics.topics(),
      subscribers: {
        programs: () => services.programs.all,
        leftBehind: () => services.leftBehind.all,
        followers: () => services.followers(),
        grants: access.grants,
      },
    },
    options.status,
    { pages: access.pages, tokens },
  );
}

/** The tokens of --status-token-file; undefined without it. */
export function statusTokens({ options, parts, context }: ProxyWiring): CallerTokens | undefined {
  const { statusTokenFile: path } = options;
  if (path === "") return undefined;
  return new parts.CallerTokens({
    path,
    optionName: "--status-token-file",
    // The Secret may be made after the Pod: what the proxy is for does not wait for it.
    mayBeAbsent: true,
    context,
  });
}
