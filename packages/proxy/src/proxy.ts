/**
 * The only file that sees the whole proxy. Read from top to bottom it is the way of a flag change: source → topics (which encode snapshots
 * and hold subscriptions) → access (who may read them) → the services on the sync port. Each step is a chapter of wiring/. Nothing is started
 * here; `components` is the order of the start.
 */
import { healthService, type Method } from "@bunting/rpc";
import {
  createRegistry,
  RateLimitedLog,
  runnableComponent,
  systemClock,
  type Clock,
  type Component,
  type Logger,
} from "@bunting/runtime";
import { sameEndpoint } from "@bunting/server";
import { StatusObservations, steadyNow } from "./management/status/status-observations.js";
import type { ProxyOptions } from "./options.js";
import { ProxyError } from "./proxy-error.js";
import { proxyMetrics } from "./proxy-metrics.js";
import { listeningComponent } from "./service/listening-component.js";
import type { TopicRegistry } from "./topic/topic-registry.js";
import { TierPath } from "./source/upstream/tier-path.js";
import { proxyManagementPort } from "./wiring/management-port.js";
import * as proxyParts from "./wiring/proxy-parts.js";
import type { ProxyWiring } from "./wiring/proxy-wiring.js";
import { accessOf, sourceOf, topicsOf } from "./wiring/sourced-topics.js";
import { statusOfProxy, statusTokens } from "./wiring/status-of-proxy.js";
import { endpointOf, portEvents, syncLimits } from "./wiring/sync-limits.js";
import { syncPort } from "./wiring/sync-port.js";
import { connectionAgeOf, drainGraceMs, syncServices } from "./wiring/sync-services.js";

export interface Proxy {
  /** Runs until the signal aborts, then drains. Rejects with the error that prevented the start or ended it. */
  run(signal: AbortSignal): Promise<void>;
  /** An estimate of what requests and connections that have ended left behind. It stays until a full collection. */
  readonly discardedBytes: number;
}

/**
 * @param parts replaced by the test of the wiring
 * @throws ProxyError OPTION_INVALID if the options name no source, or one port twice.
 */
export function createProxy(
  options: ProxyOptions,
  logger: Logger,
  clock: Clock = systemClock,
  parts = proxyParts,
): Proxy {
  checkPorts(options);
  const registry = createRegistry(true);
  const metrics = proxyMetrics(registry);
  const context = { clock, logger, log: new RateLimitedLog(logger, clock), metrics };
  const wiring: ProxyWiring = { options, parts, context };
  const { nowMs, fromMonotonic } = steadyNow(clock);
  const observations = new StatusObservations(metrics, nowMs);

  const tierPath = new TierPath(clock);
  const source = sourceOf(wiring, tierPath);
  const topics: TopicRegistry = topicsOf(wiring, source, (topic) => access.access.lost(topic));
  const access = accessOf(wiring, source, topics);
  const services = syncServices(wiring, { source, topics, access: access.access, tierPath });

  const memory = syncLimits(wiring);
  const readiness = new parts.ProxyReadiness({ source, refusesNew: () => memory.refusesNew, clock });
  const health = new parts.ReadinessHealth(() => readiness.check(), serviceNames(services.methods));
  readiness.changed.listen(() => health.changed());
  const healthMethods = healthService(health);

  const connectionAge = connectionAgeOf(wiring, services);
  const tls = parts.proxyTls(options, logger, metrics.tls);
  const events = portEvents(wiring);
  const common = { healthMethods, events };
  const port = syncPort(wiring, { ...common, services, connectionAge, memory, tls: tls.sync });
  const observed = { observations, fromMonotonic };
  const tokens = statusTokens(wiring);
  const status = statusOfProxy(wiring, {
    observed,
    readiness,
    flags: { source, topics },
    access,
    tokens,
    sync: { services, memory, port },
  });
  const management = proxyManagementPort(wiring, {
    ...common,
    readiness,
    registry,
    status,
    pages: access.pages,
    syncMemory: memory,
    tls: tls.management,
  });

  const { drainDelay: delayMs, drainWindow: windowMs } = options;
  const times = { delayMs, windowMs, graceMs: drainGraceMs };
  const components: Component[] = [
    ...tls.components,
    ...(tokens === undefined ? [] : [tokens.component]),
    listeningComponent({
      name: "management",
      reason: "starts first and stops last: probes and Prometheus see the start and the drain",
      port: management.port,
      logger,
    }),
    runnableComponent(source, "reads before the first subscriber, and watches until the last one is gone"),
    ...access.runnables.map((each) =>
      runnableComponent(each, "starts before the first caller comes, and ends after the last is gone"),
    ),
    runnableComponent(topics, "outlive the streams that they feed"),
    runnableComponent(status, "records what /status shows of the last minutes"),
    ...(connectionAge === undefined
      ? []
      : [runnableComponent(connectionAge, "runs as long as there are connections")]),
    new parts.DrainingPort({ times, drainStream: services.drain, readiness, port, context }),
  ];
  const stopTimeoutMs = delayMs + windowMs + drainGraceMs + 5_000;
  return {
    run: (signal) => parts.runComponents(components, signal, { stopTimeoutMs }),
    get discardedBytes() {
      return memory.discardedBytes + management.memory.discardedBytes;
    },
  };
}

function checkPorts({ port, managementPort, host }: ProxyOptions): void {
  const conflict = sameEndpoint([
    { endpoint: endpointOf(port, host), optionName: "--port" },
    { endpoint: endpointOf(managementPort, host), optionName: "--management-port" },
  ]);
  if (conflict !== undefined) throw ProxyError.optionInvalid(conflict);
}

function serviceNames(methods: readonly Method[]): Set<string> {
  return new Set(methods.map(({ path }) => path.slice(1, path.lastIndexOf("/"))));
}
