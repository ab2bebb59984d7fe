/**
 * The one file that sees the whole agent. Read it from top to bottom to follow a flag change: sources → store → evaluator → the services
 * that applications call. Each step is a chapter of wiring/. Nothing is started here; `components` is the order in which things start.
 */
import { Evaluator } from "@bunting/evaluation";
import {
  createRegistry,
  processMetrics,
  runnableComponent,
  Signal,
  systemClock,
  type Clock,
  type Component,
  type Logger,
} from "@bunting/runtime";
import type { AgentReadiness } from "./management/agent-readiness.js";
import { noticedFailures } from "./management/noticed-failures.js";
import { agentPrometheusMetrics } from "./management/prometheus-metrics.js";
import type { AgentOptions } from "./options.js";
import { AwaitedSources } from "./sync/awaited-sources.js";
import { version } from "./version.js";
import * as agentParts from "./wiring/agent-parts.js";
import type { AgentWiring } from "./wiring/agent-wiring.js";
import { applicationPorts } from "./wiring/application-ports.js";
import { servicesOf } from "./wiring/flag-services.js";
import { agentManagementPort } from "./wiring/management-port.js";
import { portLimits } from "./wiring/port-limits.js";
import { servingComponents } from "./wiring/serving-components.js";
import { followedFlags } from "./wiring/followed-flags.js";
import { sourceConfigsOf, sourceSignals } from "./wiring/stored-flags.js";

export interface Agent {
  /**
   * Runs until the signal aborts. Rejects with the error that kept it from starting.
   *
   * @param onReady called once, when every source has answered, or `readyAfter` is over, and applications can connect.
   */
  run(signal: AbortSignal, onReady?: () => void): Promise<void>;
}

/**
 * @param parts replaced by the test of the wiring
 * @throws AgentError OPTION_INVALID or SOURCE_UNSUPPORTED, with a message that says what to change.
 */
export function createAgent(
  options: AgentOptions,
  logger: Logger,
  clock: Clock = systemClock,
  parts = agentParts,
): Agent {
  const registry = createRegistry(false);
  processMetrics(registry);
  const signals = sourceSignals(clock);
  const counted = noticedFailures(agentPrometheusMetrics(registry), signals.failing);
  const metrics = options.debug ? parts.loggedEvaluations(counted, logger) : counted;
  const context = { clock, logger, metrics };
  const wiring: AgentWiring = { options, parts, context };
  const configured = sourceConfigsOf(wiring);
  const telemetry = new parts.Telemetry({
    collector: parts.collectorOf(options),
    registry,
    serviceName: "flagd",
    serviceVersion: version,
    logger,
    clock,
  });

  const evaluator = new Evaluator({
    clock,
    onFailure: (flag, error) => logger.debug({ flag: flag.key, error }, "a targeting rule failed"),
  });
  const { flags, follower } = followedFlags(wiring, { configured, evaluator, signals });
  const awaitedSources = new AwaitedSources(flags.configs);
  const services = servicesOf(wiring, { store: flags, evaluator, unread: awaitedSources, telemetry });

  const start = new parts.StartLimits({
    awaitedSources,
    startWaitMs: options.startWait,
    readyAfterMs: options.readyAfter,
    clock,
  });
  const readiness = new parts.AgentReadiness({
    start,
    sources: () => flags.served(),
    list: () => follower?.line(),
    clock,
  });
  const health = new parts.ReadinessHealth(() => readiness.check());
  const ready = new Signal();
  const becameReady = tellReady(readiness, { health, ready });
  const hasFlags = (isFirst: boolean): void => {
    if (!isFirst) return;
    if (awaitedSources.isComplete) services.sync.release();
    services.sync.answered();
    if (awaitedSources.isComplete) becameReady();
  };
  signals.answered.listen((sourceIndex) => hasFlags(awaitedSources.answered(sourceIndex)));
  signals.loaded.listen((sourceIndex) => hasFlags(awaitedSources.loaded(sourceIndex)));
  signals.lost.listen((sourceIndex) => awaitedSources.lost(sourceIndex));

  const limits = portLimits(wiring);
  const { callers, components: callerComponents } = parts.callerTokens(options, context);
  const tls = parts.serverTls(options, logger);
  const management = agentManagementPort(wiring, { start, readiness, health, registry, flags, limits });
  const ports = applicationPorts(wiring, { services, limits, callers, tls: tls.termination });
  const serving = servingComponents(wiring, { management, ports, services });

  const components: Component[] = [
    start.component(becameReady),
    ...tls.components,
    ...callerComponents,
    serving.management,
    telemetry.component("before the ports, so that the first request is traced; the last requests are sent"),
    ...flags.components(),
    ...(follower === undefined
      ? []
      : [runnableComponent(follower, "changes the sources that run, and stops before they do")]),
    awaitedSources.component(clock),
    serving.applications,
    readinessComponent(readiness, { becameReady, stopping: () => health.changed() }),
  ];
  return {
    run: (signal, onReady) => {
      if (onReady !== undefined) ready.listen(onReady);
      return parts.runComponents(components, signal, { stopTimeoutMs: 5_000 });
    },
  };
}

/** Returns a function that publishes the agent's health, and the first time that the agent is ready, its readiness. */
function tellReady(
  readiness: AgentReadiness,
  { health, ready }: { readonly health: { changed(): void }; readonly ready: Signal },
): () => void {
  let wasReady = false;
  return () => {
    health.changed();
    // Sources may still answer after the agent has become ready without them.
    if (wasReady || !readiness.check().isReady) return;
    wasReady = true;
    ready.emit();
  };
}

function readinessComponent(
  readiness: AgentReadiness,
  tell: { readonly becameReady: () => void; readonly stopping: () => void },
): Component {
  return {
    name: "readiness",
    reason: "starts last and stops first: who asks is to connect to open ports only",
    start: () => {
      readiness.listening();
      tell.becameReady();
    },
    stop: () => {
      readiness.stopping();
      tell.stopping();
    },
  };
}
