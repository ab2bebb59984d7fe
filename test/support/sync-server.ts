import { parseTopicSelector } from "@bunting/protocol";
import {
  AgentSync,
  type AgentSyncOptions,
} from "@bunting/proxy/internal/service/bunting-sync-v1/agent-sync.js";
import { FlagSync, type FlagSyncOptions } from "@bunting/proxy/internal/service/flag-sync.js";
import {
  flagdSyncService,
  legacySyncService,
} from "@bunting/proxy/internal/service/flagd-sync-v1/flagd-sync-service.js";
import type { Subscribing } from "@bunting/proxy/internal/service/subscribing.js";
import { noMetrics, type ProxyMetrics } from "@bunting/proxy/internal/proxy-metrics.js";
import { LeftBehind } from "@bunting/proxy/internal/subscriber/left-behind.js";
import { TopicRegistry, type TopicRegistryOptions } from "@bunting/proxy/internal/topic/topic-registry.js";
import { GrpcServer } from "@bunting/rpc";
import { PortListener } from "@bunting/server";
import type { GrpcServerOptions } from "@bunting/rpc/internal/call/grpc-server.js";
import type { StallOptions } from "@bunting/server/internal/limits/stall-watch.js";
import { createLogger, systemClock, RateLimitedLog, type ServingContext } from "@bunting/runtime";
import { ScriptedSource } from "./scripted-source.js";

type PartOptions = Omit<
  TopicRegistryOptions & Subscribing & FlagSyncOptions & AgentSyncOptions,
  "context" | "subscribing"
>;

export type SyncServerOptions = Partial<PartOptions> & {
  readonly context?: Partial<ServingContext<ProxyMetrics>>;
  readonly onSession?: GrpcServerOptions["onSession"];
  readonly stall?: StallOptions | undefined;
  /** Whether the source says at once what it has of a topic; default true. */
  readonly isAnswering?: boolean;
};

/** The proxy from topic to socket, on its own port, behind a scripted source. */
export class SyncServer {
  readonly source: ScriptedSource;
  readonly topics: TopicRegistry;
  readonly flagSync: FlagSync;
  readonly agentSync: AgentSync;
  readonly leftBehind: LeftBehind;
  readonly listener: PortListener;
  /** Lines that the proxy logged. */
  readonly logs: string[] = [];
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  constructor({ context: given = {}, ...options }: SyncServerOptions = {}) {
    const { clock = systemClock, metrics = noMetrics } = given;
    const logger = createLogger(
      { format: "json", debug: false },
      { write: (line) => void this.logs.push(line) },
    );
    const context = { clock, metrics, logger, log: given.log ?? new RateLimitedLog(logger, clock) };
    this.source = new ScriptedSource(clock, options.isAnswering);
    this.topics = new TopicRegistry({
      source: this.source,
      lingerMs: 30_000,
      missingPolicy: "hold",
      deletionGraceMs: 60_000,
      deletionPolicy: "keep",
      ...options,
      context,
    });
    this.leftBehind = options.leftBehind ?? new LeftBehind(context);
    const subscribing = {
      parseSelector: parseTopicSelector,
      ...options,
      topics: this.topics,
      context,
      leftBehind: this.leftBehind,
    };
    this.flagSync = new FlagSync({ ...options, subscribing });
    this.agentSync = new AgentSync({ ...options, subscribing });
    const methods = [
      ...this.agentSync.methods,
      ...flagdSyncService(this.flagSync),
      ...legacySyncService(this.flagSync),
    ];
    this.listener = new PortListener({
      endpoint: { host: "127.0.0.1", port: 0 },
      logger,
      grpc: new GrpcServer({ methods, logger, onSession: options.onSession }),
      stall: options.stall,
    });
  }

  get port(): number {
    return this.listener.port;
  }

  async start(): Promise<this> {
    await this.listener.listen();
    this.#running = this.topics.run(this.#abort.signal);
    return this;
  }

  async stop(): Promise<void> {
    await this.listener.close();
    this.#abort.abort();
    await this.#running;
  }
}
