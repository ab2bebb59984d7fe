import type { TopicKey } from "@bunting/protocol";
import { proxyMetrics, type ProxyMetrics } from "@bunting/proxy/internal/proxy-metrics.js";
import { AgentSync } from "@bunting/proxy/internal/service/bunting-sync-v1/agent-sync.js";
import { proxyOptionTable as options } from "@bunting/proxy/internal/options.js";
import { FlagSync } from "@bunting/proxy/internal/service/flag-sync.js";
import { flagdSyncService } from "@bunting/proxy/internal/service/flagd-sync-v1/flagd-sync-service.js";
import { TopicQuota } from "@bunting/proxy/internal/topic/topic-quota.js";
import type { FlagSource, SourceSink } from "@bunting/proxy/internal/source/flag-source.js";
import { parseSelector } from "@bunting/proxy/internal/source/selector.js";
import { TopicRegistry } from "@bunting/proxy/internal/topic/topic-registry.js";
import { GrpcServer, StartQueue } from "@bunting/rpc";
import { PortListener } from "@bunting/server";
import { createLogger, createRegistry, systemClock, RateLimitedLog } from "@bunting/runtime";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { serveCalls } from "../support/child-protocol.js";
import { monotonicMs } from "../support/monotonic.js";
import type { ConvergingHandlers, Published, PublishInput } from "./server-handlers.js";

/** The proxy's own stages, wired as in proxy.ts with default options, behind a source that publishes the case's documents: no file is read or watched. */

class HandedSource implements FlagSource {
  readonly name = "handed";
  readonly hasSynced = true;
  readonly #sinks = new Map<TopicKey, SourceSink>();

  run(): Promise<void> {
    return Promise.resolve();
  }

  onSynced(listener: () => void): void {
    listener();
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    this.#sinks.set(topic, sink);
    signal.addEventListener("abort", () => this.#sinks.delete(topic), { once: true });
    setImmediate(() => this.publish({ sequence: firstSequence, bytes: 1024 }));
  }

  offerAgain(_topic: TopicKey, done: () => void): void {
    done();
  }

  publish(input: PublishInput): Published {
    const document = sequencedDocument(input);
    const publishedMs = monotonicMs();
    for (const sink of this.#sinks.values())
      sink.report({ kind: "document", document, version: { noticedMs: systemClock.monotonicMs() } });
    return { publishedMs };
  }
}

/** Records when something happened, for callers that ask before or after it. */
class Signal {
  raised!: Promise<number>;
  #resolve!: (atMs: number) => void;

  constructor() {
    this.reset();
  }

  reset(): void {
    this.raised = new Promise((resolve) => (this.#resolve = resolve));
  }

  raise(): void {
    this.#resolve(monotonicMs());
  }
}

const logger = createLogger({ format: "json", debug: false });
const prometheus = proxyMetrics(createRegistry(true));
const converged = new Signal();
const metrics: ProxyMetrics = {
  ...prometheus,
  converged: (share, ms) => {
    prometheus.converged(share, ms);
    if (share === 1) converged.raise();
  },
};
const clock = systemClock;
const source = new HandedSource();
const log = new RateLimitedLog(logger, clock);
const topics = new TopicRegistry({
  source,
  context: { clock, logger, metrics },
  quota: new TopicQuota({
    perConnection: options.maxTopicsPerConnection.default,
    perAddress: options.maxTopicsPerAddress.default,
    metrics,
    log,
  }),
  lingerMs: 30_000,
  missingPolicy: "hold",
  deletionGraceMs: 60_000,
  deletionPolicy: "keep",
});
const subscribing = {
  topics,
  parseSelector: (selector: string) => parseSelector(selector, { allowFileSelectors: false }),
  context: { clock, metrics, log },
};
const flagSync = new FlagSync({
  subscribing: {
    ...subscribing,
    startQueue: new StartQueue({
      perSecond: options.firstSnapshotRate.default,
      burst: options.firstSnapshotBurst.default,
      clock,
      onWaiting: (delta) => metrics.queuedStarts(delta),
    }),
  },
});
const methods = [...new AgentSync({ subscribing }).methods, ...flagdSyncService(flagSync)];
const { keepaliveInterval, keepaliveTimeout } = options;
const port = new PortListener({
  endpoint: { port: 0, host: "127.0.0.1" },
  logger,
  grpc: new GrpcServer({ methods, logger, clock }),
  keepalive: { intervalMs: keepaliveInterval.default, timeoutMs: keepaliveTimeout.default, clock },
  stall: { timeoutMs: options.stallTimeout.default, clock, onStreamStalled: () => metrics.stalled() },
});

const handlers: ConvergingHandlers = {
  listen: async (): Promise<{ port: number }> => {
    await port.listen();
    return { port: port.port };
  },
  publish: (input: PublishInput): Published => {
    converged.reset();
    return source.publish(input);
  },
  converged: async () => ({ convergedMs: await converged.raised }),
};

serveCalls(handlers);
