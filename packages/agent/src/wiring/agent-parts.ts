import { GrpcServer, ReadinessHealth } from "@bunting/rpc";
import { PeerMemory, PortListener } from "@bunting/server";
import { managementHandler, runComponents, stoppedTogether, type Context } from "@bunting/runtime";
import { createConnectListener } from "../api/connect/connect-listener.js";
import { createContextEnrichment } from "../api/context.js";
import { EventStreams } from "../api/events/event-stream.js";
import { createCors } from "../api/http/cors.js";
import { createOfrepListener } from "../api/ofrep/ofrep-listener.js";
import { wholeOfrepRequests } from "../api/ofrep/whole-ofrep-requests.js";
import { SseStreams } from "../api/sse/sse-streams.js";
import { syncHttp } from "../api/sync/sync-http.js";
import { SyncService } from "../api/sync/sync-service.js";
import { endpoints } from "../endpoints.js";
import { AgentReadiness } from "../management/agent-readiness.js";
import { callerTokens } from "../management/caller-tokens.js";
import { loggedEvaluations } from "../management/logged-evaluations.js";
import type { agentPrometheusMetrics } from "../management/prometheus-metrics.js";
import { serverTls } from "../management/server-tls.js";
import { servingComponent } from "../management/serving-component.js";
import { StartLimits } from "../management/start-limits.js";
import type { AgentOptions } from "../options.js";
import { FlagStore } from "../store/flag-store.js";
import { LastKnownGood } from "../store/last-known-good.js";
import { createSources } from "../sync/create-sources.js";
import { parseSources } from "../sync/parse-sources.js";
import { SourceFreshness } from "../sync/source-freshness.js";
import { collectorOf } from "../telemetry/collector.js";
import { Telemetry } from "../telemetry/telemetry.js";

/**
 * What an agent is made of. The wiring takes its parts from here, so that its test can hand in the same parts and see what each of them is
 * given: agent-wiring.test.ts has a row for every option.
 */
export const agentParts = {
  parseSources,
  collectorOf,
  Telemetry,
  FlagStore,
  LastKnownGood,
  SourceFreshness,
  createSources,
  createContextEnrichment,
  EventStreams,
  SseStreams,
  SyncService,
  StartLimits,
  AgentReadiness,
  ReadinessHealth,
  PeerMemory,
  GrpcServer,
  PortListener,
  managementHandler,
  loggedEvaluations,
  endpoints,
  serverTls,
  callerTokens,
  createCors,
  createConnectListener,
  syncHttp,
  createOfrepListener,
  wholeOfrepRequests,
  servingComponent,
  runComponents,
  stoppedTogether,
};

export type AgentParts = typeof agentParts;

/** What every chapter of the wiring needs. */
export interface AgentWiring {
  readonly options: AgentOptions;
  readonly parts: AgentParts;
  readonly context: Context<ReturnType<typeof agentPrometheusMetrics>>;
}
