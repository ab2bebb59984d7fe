/**
 * The one file that sees the whole agent. Read it from top to bottom to follow a flag change: sources → store → evaluator → the services
 * that applications call. Nothing is started here; `components` is the order in which things start.
 */
import { Evaluator } from "@bunting/evaluation";
import {
  chargeAnswer,
  defaultPeerMemoryBytes,
  LongRequests,
  PeerMemory,
  PortListener,
  ReadTurns,
  type TlsTermination,
} from "@bunting/server";
import { GrpcServer, healthService, ReadinessHealth, type Method, type OnCallEnd } from "@bunting/rpc";
import {
  createRegistry,
  managementHandler,
  runComponents,
  runnableComponent,
  systemClock,
  type Clock,
  type Component,
  type Logger,
} from "@bunting/runtime";
import { AgentError } from "./agent-error.js";
import { createContextEnrichment } from "./api/context.js";
import { createEvaluationService } from "./api/evaluation-service.js";
import { evaluationV1 } from "./api/evaluation-v1.js";
import { evaluationV2 } from "./api/evaluation-v2.js";
import { EventStreams } from "./api/events/event-stream.js";
import { evaluationMethods } from "./api/grpc/grpc-methods.js";
import { createCors } from "./api/http/cors.js";
import { admittedCalls } from "./api/grpc/admitted-calls.js";
import { evaluationGrpcHeaders } from "./api/grpc/grpc-headers.js";
import { createConnectListener } from "./api/connect/connect-listener.js";
import { OfrepAnswers } from "./api/ofrep/ofrep-answers.js";
import { createOfrepListener } from "./api/ofrep/ofrep-listener.js";
import { wholeOfrepRequests } from "./api/ofrep/whole-ofrep-requests.js";
import { schemaV1 } from "./api/schema-v1.js";
import { createSelections } from "./api/selection.js";
import { syncHttp } from "./api/sync/sync-http.js";
import { syncGrpcHeaders } from "./api/sync/sync-headers.js";
import { SseStreams } from "./api/sse/sse-streams.js";
import { SyncService } from "./api/sync/sync-service.js";
import { endpoints, type NamedEndpoint } from "./endpoints.js";
import { endedConnections, refusedRequests } from "./management/report-limits.js";
import { callerTokens } from "./management/caller-tokens.js";
import { AgentReadiness } from "./management/agent-readiness.js";
import { prometheusMetrics } from "./management/prometheus-metrics.js";
import { serverTls } from "./management/server-tls.js";
import { servingComponent } from "./management/serving-component.js";
import type { AgentOptions } from "./options.js";
import { FlagIntake } from "./store/flag-intake.js";
import { FlagStore } from "./store/flag-store.js";
import { HeapBudget } from "./store/heap-budget.js";
import { LastKnownGood } from "./store/last-known-good.js";
import { createSources } from "./sync/create-sources.js";
import { SourceFreshness } from "./sync/source-freshness.js";
import { parseSources } from "./sync/parse-sources.js";
import { collectorOf } from "./telemetry/collector.js";
import { Telemetry } from "./telemetry/telemetry.js";
import { collectReleased } from "./v8/collect-released.js";
import { version } from "./version.js";

export interface Agent {
  /**
   * Runs until the signal aborts. Rejects with the error that kept it from starting.
   *
   * @param onReady called once, when every source has answered.
   */
  run(signal: AbortSignal, onReady?: () => void): Promise<void>;
}

/** @throws AgentError OPTION_INVALID or SOURCE_UNSUPPORTED, with a message that says what to change. */
export function createAgent(options: AgentOptions, logger: Logger, clock: Clock = systemClock): Agent {
  const configs = parseSources(
    { uris: options.uri, sources: options.sources, credentials: options },
    (warning) => logger.warn(warning),
  );
  if (configs.length === 0) {
    throw new AgentError(
      "OPTION_INVALID",
      "there is no source of flags: name one with --uri file:PATH, --uri grpc://HOST:PORT, or --sources",
    );
  }
  const registry = createRegistry(false);
  const metrics = prometheusMetrics(registry);
  const telemetry = new Telemetry({
    collector: collectorOf(options),
    registry,
    serviceName: "flagd",
    serviceVersion: version,
    logger,
    clock,
  });
  let onReady: (() => void) | undefined;

  const store = new FlagStore({ sources: configs, budget: new HeapBudget(), logger, clock, metrics });
  const lastKnownGood = new LastKnownGood({
    directory: options.cacheDir,
    sources: configs,
    logger,
    clock,
    metrics,
    maxDocumentBytes: store.maxDocumentBytes,
  });
  const intake = new FlagIntake({
    store,
    lastKnownGood,
    accepted: (sourceIndex) => answered(sourceIndex),
  });
  const answered = (sourceIndex: number): void => {
    if (!readiness.answered(sourceIndex)) return;
    sync.release();
    health.changed();
    onReady?.();
  };
  const evaluator = new Evaluator({
    clock,
    onFailure: (flag, error) => logger.debug({ flag: flag.key, error }, "a targeting rule failed"),
  });
  const freshness = new SourceFreshness({
    sources: configs,
    staleAfterMs: options.staleAfter,
    evaluator,
    clock,
    logger,
    metrics,
  });
  const sources = createSources(configs, {
    deliver: (delivery) => intake.deliver(delivery),
    held: (sourceIndex) => store.held(sourceIndex),
    answered,
    confirm: (sourceIndex, version) => intake.confirm(sourceIndex, version),
    contact: (...contact) => freshness.contact(...contact),
    logger,
    clock,
    metrics,
    pod: { environment: process.env, serviceAccountDirectory: options.serviceAccountDirectory },
    deletionPolicy: options.deletionPolicy,
    deletionGraceMs: options.deletionGrace,
    maxDocumentBytes: store.maxDocumentBytes,
  });

  const selections = createSelections();
  const { contextValue: contextValues, contextFromHeader } = options;
  const context = createContextEnrichment({ contextValues, contextFromHeader });
  const contextHeaders = Object.keys(contextFromHeader);
  const services = [evaluationV2, evaluationV1, schemaV1].map((dialect) =>
    telemetry.evaluations(
      createEvaluationService(dialect, { evaluator, selections, context, metrics, logger }),
    ),
  );
  const { maxRequestBody: maxRequestBodyBytes, streamDeadline: streamDeadlineMs } = options;
  const events = new EventStreams({ selections, clock, streamDeadlineMs });
  const sse = options.ofrepSseEnabled ? new SseStreams({ clock, streamDeadlineMs }) : undefined;
  const sync = new SyncService({
    reader: store,
    selections,
    metrics,
    clock,
    contextValues,
    isMetadataDisabled: options.disableSyncMetadata,
    streamDeadlineMs,
  });
  store.onChange(({ changes, upserted, removed }) => {
    evaluator.apply({ upserted, removed });
    events.publish(changes);
    sse?.publish(changes);
    sync.publish(changes);
  });

  const readiness = new AgentReadiness({
    sourceCount: configs.length,
    status: () => sources.map((source) => source.status()),
    servesFlags: (sourceIndex) => store.servesFlags(sourceIndex),
    isStale: (sourceIndex) => freshness.isStale(sourceIndex),
    clock,
  });
  const health = new ReadinessHealth(() => readiness.check());

  const maxMessageBytes = maxRequestBodyBytes === 0 ? Infinity : maxRequestBodyBytes;
  const grpc = (methods: readonly Method[], onCallEnd?: OnCallEnd, malformed?: "connect-go"): GrpcServer =>
    new GrpcServer({ methods, logger, clock, maxMessageBytes, onCallEnd, ...(malformed && { malformed }) });
  // A quarter of the heap, which is small: the flags and the requests need the rest.
  const memory = new PeerMemory(
    options.peerMemory === "auto" ? defaultPeerMemoryBytes(1 / 4) : options.peerMemory,
    "idle",
  );
  metrics.peerMemory(memory);
  collectReleased(memory);
  const limits = {
    maxHeaderBytes: options.maxRequestHeader === 0 ? 1024 * 1024 : options.maxRequestHeader,
    // Clients queue further requests. One that may open more would be ended for a burst of ordinary ones.
    maxStreamsPerConnection: memory.streamsPerConnection,
  };
  // One for the ports that applications call: probes have their own turns, for the same reason as their own memory.
  const forApplications = { memory, turns: new ReadTurns() };
  const longRequests = new LongRequests();
  metrics.longRequests(longRequests);
  const cors = createCors(options.corsOrigin);
  const { callers, components: callerComponents } = callerTokens(options, { metrics, logger, clock });
  const shared = { cors, callers, metrics, clock, logger, maxRequestBodyBytes, longRequests };
  const listening = {
    logger,
    limits,
    onDropped: endedConnections({ metrics, logger, clock }),
    onRefused: refusedRequests({ metrics, logger, clock }),
    onHeld: () => metrics.readingHeld(),
    onStreamLimit: () => metrics.streamLimitReached(),
  };
  const { evaluationEndpoint, syncEndpoint, ofrepEndpoint, managementEndpoint } = endpoints(options);
  const tls = serverTls(options, logger);
  const tlsOf = ({ endpoint }: NamedEndpoint): TlsTermination | undefined =>
    "socketPath" in endpoint ? undefined : tls.termination;
  const managementPort = new PortListener({
    ...managementEndpoint,
    ...listening,
    // Of its own, so that probes are answered while the other ports are under attack, and always with room for them.
    memory: new PeerMemory(memory.budgetBytes / 8, "any"),
    grpc: grpc(healthService(health)),
    http: managementHandler(() => readiness.check(), registry, { onMetrics: chargeAnswer }),
  });
  const methods = evaluationMethods(services, events, longRequests);
  const evaluationPort = new PortListener({
    ...evaluationEndpoint,
    ...listening,
    tls: tlsOf(evaluationEndpoint),
    ...forApplications,
    grpc: admittedCalls(grpc(methods, metrics.grpcCalls(true), "connect-go"), callers),
    grpcHeaders: evaluationGrpcHeaders,
    http: createConnectListener({ services, events, ...shared }),
  });
  const flagsOverHttp = options.syncHttpEnabled && syncHttp({ sync, selections, ...shared });
  const syncPort = new PortListener({
    ...syncEndpoint,
    ...listening,
    tls: tlsOf(syncEndpoint),
    ...forApplications,
    grpc: admittedCalls(grpc(sync.methods(), metrics.grpcCalls(false)), callers),
    grpcHeaders: syncGrpcHeaders,
    ...(flagsOverHttp && { http: flagsOverHttp.listener }),
  });
  const ofrepEvents = sse && {
    streams: sse,
    inactivityDelaySec: options.ofrepSseInactivityDelay,
    publicUrl: options.ofrepSsePublicUrl,
  };
  const answers = new OfrepAnswers({ evaluator, selections, context, metrics, logger, sse: ofrepEvents });
  // Requests with a token to check, or with a trace to go on, cost more than what this saves.
  const isPlain = callers === undefined && !telemetry.isOn;
  const ofrepPort = new PortListener({
    ...ofrepEndpoint,
    ...listening,
    ...forApplications,
    http: telemetry.ofrep(createOfrepListener({ answers, selections, ...shared, sse: ofrepEvents })),
    ...(isPlain && { wholeRequests: wholeOfrepRequests({ answers, contextHeaders, ...shared }) }),
  });

  const components: Component[] = [
    ...tls.components,
    ...callerComponents,
    servingComponent({
      name: "management",
      reason: "starts first and stops last: probes and Prometheus see the start and the drain",
      port: managementPort,
      logger,
    }),
    telemetry.component("before the ports, so that the first request is traced; the last requests are sent"),
    {
      name: "last-known-good",
      reason: "before the sources, so that newer documents replace it; written out after the last of them",
      start: () => intake.load(),
      stop: () => lastKnownGood.flush(),
    },
    runnableComponent(freshness, "before the sources, each of which is away until it has answered"),
    ...sources.map((source) => runnableComponent(source, "flags may arrive before the first request")),
    servingComponent({
      name: "ofrep",
      reason: "called by applications",
      port: ofrepPort,
      logger,
      ...(sse && { drainHttp: () => sse.drain() }),
    }),
    ...(flagsOverHttp ? [flagsOverHttp.component] : []),
    servingComponent({
      name: "sync",
      reason: "called by applications",
      port: syncPort,
      logger,
      drain: (stream) => sync.drain(stream),
      onStopped: () => sync.shutdown(),
    }),
    servingComponent({
      name: "evaluation",
      reason: "starts last and stops first: everything else still runs for the calls in progress",
      port: evaluationPort,
      logger,
      drain: (stream) => events.drain(stream),
      drainHttp: () => events.drainHttp(),
      onStopping: () => {
        readiness.stopping();
        health.changed();
      },
      onStopped: () => events.shutdown(),
    }),
  ];
  return {
    run: (signal, whenReady) => {
      onReady = whenReady;
      return runComponents(components, signal, { stopTimeoutMs: 5_000 });
    },
  };
}
