/**
 * The only file that sees the whole proxy. Read from top to bottom it is the way of a flag change: source → topics (which encode snapshots
 * and hold subscriptions) → access (who may read them) → the services on the sync port. Nothing is started here; `components` is the order of the start.
 */
import {
  CallPacing,
  GrpcServer,
  healthService,
  ReadinessHealth,
  reflectionService,
  StartQueue,
  type Method,
  type RpcStatus,
  type TransportStream,
} from "@bunting/rpc";
import {
  chargeAnswer,
  defaultPeerMemoryBytes,
  PeerMemory,
  PortListener,
  ReadTurns,
  refusals,
  type DropReason,
  type ListenEndpoint,
  type RefusalReason,
} from "@bunting/server";
import {
  createRegistry,
  managementHandler,
  runComponents,
  runnableComponent,
  systemClock,
  type Clock,
  type Component,
  type Logger,
  RateLimitedLog,
} from "@bunting/runtime";
import { createAccess, readsReaders } from "./access/create-access.js";
import { guardPage } from "./management/page-guard.js";
import { prometheusMetrics } from "./management/prometheus-metrics.js";
import { ProxyStatus } from "./management/proxy-status.js";
import { StatusObservations, steadyNow } from "./management/status/status-observations.js";
import type { ProxyOptions } from "./options.js";
import { AgentSync } from "./service/bunting-sync-v1/agent-sync.js";
import { ConnectionAge } from "./service/connection-age.js";
import { DrainingPort } from "./service/draining-port.js";
import { FlagSync } from "./service/flag-sync.js";
import { legacySyncService } from "./service/sync-v1/legacy-sync-service.js";
import { listeningComponent } from "./service/listening-component.js";
import { proxyTls } from "./service/proxy-tls.js";
import { ProxyReadiness } from "./service/proxy-readiness.js";
import { flagdSyncService } from "./service/flagd-sync-v1/flagd-sync-service.js";
import { prepareSnapshot } from "./snapshot/encode-snapshot.js";
import { createSource, topicPrefixes } from "./source/create-source.js";
import { parseSelector } from "./source/selector.js";
import { TierPath } from "./source/upstream/tier-path.js";
import { TopicQuota } from "./topic/topic-quota.js";
import { TopicRegistry } from "./topic/topic-registry.js";
import { version } from "./version.js";

export interface Proxy {
  /** Runs until the signal aborts, then drains. Rejects with the error that prevented the start or ended it. */
  run(signal: AbortSignal): Promise<void>;
  /** An estimate of what requests and connections that have ended left behind. It stays until a full collection. */
  readonly discardedBytes: number;
}

/** How long a connection being drained may take to send its last bytes. */
const drainGraceMs = 1_000;
/** The largest requests are the acks of agents that reject a hundred flags with long keys. */
const maxRequestBytes = 128 * 1024;
const maxHeaderBytes = 16 * 1024;

/** What clients that bundle many streams into few connections may hold at least, if the budget is an operator's choice. */
const minSurplusBytes = 64 * 1024 * 1024;

/** Of connections that the proxy ends; the others end for reasons that no peer can cause at will. */
const endedMessages: Partial<Record<DropReason, string>> = {
  flood: "ended a connection that flooded the proxy with PING or SETTINGS frames",
  memory:
    "ended or refused a connection: clients hold as much memory as --peer-memory allows, or a few of them hold more than their share of it",
  settings: "ended a connection whose client has not acknowledged SETTINGS",
  stalled: "ended a connection whose peer does not read",
  unfinished_headers: "ended a connection, because the headers of a request did not end within 10 s",
};

/**
 * @throws ProxyError OPTION_INVALID if the options name no source.
 */
export function createProxy(options: ProxyOptions, logger: Logger, clock: Clock = systemClock): Proxy {
  const registry = createRegistry(true);
  const { nowMs, fromMonotonic } = steadyNow(clock);
  const observations = new StatusObservations(nowMs);
  const metrics = observations.observe(prometheusMetrics(registry));

  const tierPath = new TierPath(clock);
  const prefixes = topicPrefixes(options);
  const { env } = process;
  const sourceParts = { clock, logger, metrics, env, readsReaders: readsReaders(options), tierPath };
  const source = createSource(options, { ...sourceParts, prepare: prepareSnapshot });
  const log = new RateLimitedLog(logger, clock);
  const topics = new TopicRegistry({
    source,
    clock,
    logger,
    metrics,
    quota: new TopicQuota({
      perConnection: options.maxTopicsPerConnection,
      perAddress: options.maxTopicsPerAddress,
      metrics,
      log,
    }),
    lingerMs: options.topicLinger,
    missingPolicy: options.missingPolicy,
    deletionGraceMs: options.deletionGrace,
    deletionPolicy: options.deletionPolicy,
  });
  const { access, runnables, grants, pages } = createAccess(options, {
    clock,
    logger,
    log,
    metrics,
    env,
    readersOf: (topic) => source.readersOf?.(topic),
  });
  const { stallTimeout, firstSnapshotRate, maxConnectionAge, allowFileSelectors } = options;
  const subscribing = {
    topics,
    access,
    parseSelector: (selector: string) => parseSelector(selector, { allowFileSelectors, prefixes }),
    clock,
    metrics,
    log,
    startQueue:
      firstSnapshotRate === 0
        ? undefined
        : new StartQueue({
            perSecond: firstSnapshotRate,
            burst: options.firstSnapshotBurst,
            clock,
            onWaiting: (delta) => metrics.queuedStarts(delta),
          }),
  };
  const agentSync = new AgentSync({ ...subscribing, tierPath, ackTimeoutMs: options.ackTimeout });
  const flagSync = new FlagSync({ ...subscribing, compresses: options.compression === "auto" });

  const services = [...agentSync.methods, ...flagdSyncService(flagSync), ...legacySyncService(flagSync)];
  const drainStream = (stream: TransportStream, status: RpcStatus): boolean =>
    agentSync.drain(stream, status) ? true : flagSync.drain(stream, status);
  const health: ReadinessHealth = new ReadinessHealth(() => readiness.check(), serviceNames(services));
  const readiness = new ProxyReadiness({ source, clock, onChange: () => health.changed() });

  const healthMethods = healthService(health);
  const reflection = reflectionService([...services, ...healthMethods].map(({ path }) => path));
  const connectionAge =
    maxConnectionAge === 0
      ? undefined
      : new ConnectionAge({
          maxAgeMs: maxConnectionAge,
          graceMs: drainGraceMs,
          clock,
          metrics,
          drain: (stream, status) => {
            if (!drainStream(stream, status)) stream.end(status);
          },
        });
  const { peerMemory } = options;
  const memory =
    peerMemory === "auto"
      ? new PeerMemory(defaultPeerMemoryBytes(1))
      : new PeerMemory(
          peerMemory,
          "none",
          Math.min(peerMemory / 2, Math.max(minSurplusBytes, peerMemory / 4)),
        );
  metrics.peerMemory(memory);
  const grpc = new GrpcServer({
    methods: [...services, ...healthMethods, ...reflection],
    logger,
    clock,
    maxMessageBytes: maxRequestBytes,
    onSession: (session) => {
      metrics.connectionOpened(session);
      connectionAge?.add(session);
    },
  });
  const tls = proxyTls(options, logger, metrics.tls);
  const onDropped = (reason: DropReason, detail?: string, peer?: string): void => {
    metrics.connectionEnded(reason);
    if (detail !== undefined)
      log.warn(`connection ${reason} ${detail}`, { peer }, `ended a connection: ${detail}`);
    const message = endedMessages[reason];
    if (message !== undefined) log.warn(`connection ${reason}`, {}, message);
  };
  const onRefused = (reason: RefusalReason): void => {
    metrics.requestRefused(reason);
    // Stalled streams have a line of their own.
    if (reason !== "stalled")
      log.warn(`refused ${reason}`, { reason }, `refused a request: ${refusals[reason]}`);
  };
  const syncPort = new PortListener({
    endpoint: endpoint(options.port, options.host),
    optionName: "--port",
    logger,
    grpc: new CallPacing({
      handler: grpc,
      clock,
      onWaiting: (delta) => metrics.callsWaiting(delta),
      onDelayed: ({ remoteAddress: peer }) => {
        metrics.callDelayed();
        log.warn(
          "call_pacing",
          { peer },
          "a connection makes so many short calls that they have to wait; others are served at once",
        );
      },
    }),
    tls: tls.sync,
    limits: { maxStreamsPerConnection: options.maxStreamsPerConnection, maxHeaderBytes },
    memory,
    turns: new ReadTurns({ perTurn: 128, restFactor: 1, clock }),
    keepalive: { intervalMs: options.keepaliveInterval, timeoutMs: options.keepaliveTimeout, clock },
    stall: {
      timeoutMs: stallTimeout,
      clock,
      onStreamStalled: () => {
        metrics.stalled();
        log.warn("stalled", { stallTimeoutMs: stallTimeout }, "ended a stream whose peer does not read");
      },
    },
    onDropped,
    onRefused,
    onHeld: () => metrics.readingHeld(),
    onStreamLimit: ({ remoteAddress: peer }) => {
      metrics.streamLimitReached();
      log.warn(
        "stream_limit",
        { peer },
        "a connection has as many streams as --max-streams-per-connection allows: its client's further ones wait",
      );
    },
  });
  metrics.readConnections(() => syncPort.sessions);
  const startedMs = clock.monotonicMs();
  const status = new ProxyStatus(
    {
      version,
      startedMs,
      clock,
      fromMonotonic,
      observations,
      memory,
      readiness: () => readiness.check(),
      topics: () => topics.topics(),
      grants,
      watches: () => metrics.readWatchCounts(),
      backplane: () => metrics.readBackplane(),
      programs: () => agentSync.programs.all,
      connections: () => syncPort.sessions.size,
    },
    options.status,
    pages,
  );
  // A ledger of its own, so that probes are answered while the sync port is under attack, and one that always has room for them.
  const managementMemory = new PeerMemory(memory.budgetBytes / 8, "any");
  const managementPort = new PortListener({
    endpoint: endpoint(options.managementPort, options.host),
    optionName: "--management-port",
    logger,
    tls: tls.management,
    memory: managementMemory,
    onDropped,
    onRefused,
    grpc: new GrpcServer({ methods: healthMethods, logger, clock }),
    http: managementHandler(() => readiness.check(), registry, {
      pages: new Map([["/status", status.page]]),
      onMetrics: chargeAnswer,
      ...(pages === undefined || options.managementAuth === "off"
        ? {}
        : { guardMetrics: (metricsPage) => guardPage(pages, "/metrics", metricsPage) }),
    }),
  });

  const components: Component[] = [
    ...tls.components,
    listeningComponent({
      name: "management",
      reason: "starts first and stops last: probes and Prometheus see the start and the drain",
      port: managementPort,
      logger,
    }),
    runnableComponent(source, "reads before the first subscriber, and watches until the last one is gone"),
    ...runnables.map((each) =>
      runnableComponent(each, "starts before the first caller comes, and ends after the last is gone"),
    ),
    runnableComponent(topics, "outlive the streams that they feed"),
    runnableComponent(status, "records what /status shows of the last minutes"),
    ...(connectionAge === undefined
      ? []
      : [runnableComponent(connectionAge, "runs as long as there are connections")]),
    new DrainingPort({
      port: syncPort,
      logger,
      clock,
      drainStream,
      delayMs: options.drainDelay,
      windowMs: options.drainWindow,
      graceMs: drainGraceMs,
      readiness,
    }),
  ];
  const stopTimeoutMs = options.drainDelay + options.drainWindow + drainGraceMs + 5_000;
  return {
    run: (signal) => runComponents(components, signal, { stopTimeoutMs }),
    get discardedBytes() {
      return memory.discardedBytes + managementMemory.discardedBytes;
    },
  };
}

function endpoint(port: number, host: string): ListenEndpoint {
  return host === "" ? { port } : { port, host };
}

function serviceNames(methods: readonly Method[]): Set<string> {
  return new Set(methods.map(({ path }) => path.slice(1, path.lastIndexOf("/"))));
}
