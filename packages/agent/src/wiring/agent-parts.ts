/**
 * What an agent is made of. The wiring takes its parts from here, so that its test can hand in the same parts and see what each of them is
 * given: agent-wiring.test.ts has a row for every option.
 */

export { GrpcServer, ReadinessHealth } from "@bunting/rpc";
export { PeerMemory, PortListener } from "@bunting/server";
export { managementHandler, runComponents, stoppedTogether } from "@bunting/runtime";
export { createConnectListener } from "../api/connect/connect-listener.js";
export { createContextEnrichment } from "../api/context.js";
export { EventStreams } from "../api/events/event-stream.js";
export { createCors } from "../api/http/cors.js";
export { createOfrepListener } from "../api/ofrep/ofrep-listener.js";
export { wholeOfrepRequests } from "../api/ofrep/whole-ofrep-requests.js";
export { SseStreams } from "../api/sse/sse-streams.js";
export { syncHttp } from "../api/sync/sync-http.js";
export { SyncService } from "../api/sync/sync-service.js";
export { endpoints } from "../endpoints.js";
export { AgentReadiness } from "../management/agent-readiness.js";
export { callerTokens } from "../management/caller-tokens.js";
export { loggedEvaluations } from "../management/logged-evaluations.js";
export { serverTls } from "../management/server-tls.js";
export { servingComponent } from "../management/serving-component.js";
export { StartLimits } from "../management/start-limits.js";
export { FlagStore } from "../store/flag-store.js";
export { LastKnownGood } from "../store/last-known-good.js";
export { createSources } from "../sync/create-sources.js";
export { parseSources } from "../sync/parse-sources.js";
export { SourceFreshness } from "../sync/source-freshness.js";
export { collectorOf } from "../telemetry/collector.js";
export { Telemetry } from "../telemetry/telemetry.js";
