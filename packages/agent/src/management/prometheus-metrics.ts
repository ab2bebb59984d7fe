import os from "node:os";
import { serverMetrics } from "@bunting/server";
import { buildInfo, Gauge, type MetricsOf, type Registry } from "@bunting/runtime";
import { apiLimitMetrics, type ApiMetrics } from "../api/api-metrics.js";
import { storeMetrics, type StoreMetrics } from "../store/store-metrics.js";
import { syncMetrics, type SyncMetrics } from "../sync/sync-metrics.js";
import { CallMetrics } from "./call-metrics.js";
import { EvaluationCounts } from "./evaluation-counts.js";
import { RequestMetrics } from "./request-metrics.js";
import { SyncStreamMetrics } from "./sync-stream-metrics.js";
import { version } from "../version.js";

/** The metrics of all stages; docs/reference/agent-metrics.md is generated from those registered here. */
export function agentPrometheusMetrics(
  registry: Registry,
): SyncMetrics & StoreMetrics & ApiMetrics & MetricsOf<ReturnType<typeof serverMetrics>> {
  targetInfo(registry);
  buildInfo(registry, "bunting_agent_build_info", version);
  return {
    ...serverMetrics("bunting_agent_api", "agent").create(registry),
    ...syncMetrics(registry),
    ...storeMetrics.create(registry),
    ...apiLimitMetrics.create(registry),
    ...flagdMetrics(registry),
  };
}

/** Metrics under flagd's names. Clients choose their series, so the number of series is limited. */
function flagdMetrics(
  registry: Registry,
): Omit<ApiMetrics, "requestRefused" | keyof MetricsOf<typeof apiLimitMetrics>> {
  const provider = { feature_flag_provider_name: "flagd" };
  const metric = { series: 0 };
  const counts = new EvaluationCounts(provider, metric);
  const ofrepCounts = new EvaluationCounts({ ...provider, protocol: "ofrep" }, metric);
  EvaluationCounts.register(registry, [counts, ofrepCounts]);
  const requests = new RequestMetrics(registry);
  const calls = new CallMetrics(registry);
  const streams = new SyncStreamMetrics(registry);
  return {
    evaluated: (flagKey, reason, variant) => counts.evaluated(flagKey, reason, variant),
    evaluationFailed: (_flagKey, errorCode) => counts.failed(errorCode),
    ofrepEvaluated: (flagKey, reason, variant) => ofrepCounts.evaluated(flagKey, reason, variant),
    ofrepEvaluationFailed: (_flagKey, errorCode) => ofrepCounts.failed(errorCode),
    httpRequest: (service, route, record) => requests.http(route, service === "ofrep", record),
    httpActiveRequests: (route, method, change) => requests.active(route, method, change),
    rpc: (...call) => calls.record(...call),
    grpcCalls: (isHttp) => ({
      ...(isHttp && { onCallBegin: (path: string): void => requests.active(path, "POST", 1) }),
      onCallEnd: (path, ended, durationMs, requestBytes, responseBytes, responses) => {
        // A client that has gone is no error of the server: streams end so.
        const code = ended === "CANCELLED" ? "OK" : ended;
        calls.record("grpc", path, code, durationMs, requestBytes, responseBytes, responses);
        if (!isHttp) return;
        requests.active(path, "POST", -1);
        requests.routed(path, "POST", durationMs, responseBytes);
      },
    }),
    syncStreamOpened: (selector, providerId) => streams.opened(selector, providerId),
    syncStreamClosed: (...closed) => streams.closed(...closed),
  };
}

/** What produces the metrics, under OpenTelemetry's names. */
function targetInfo(registry: Registry): void {
  const labels = {
    host_name: os.hostname(),
    os_description: `${os.type()} ${os.release()}`,
    os_type: os.platform(),
    process_runtime_version: process.version,
    service_name: "flagd",
    service_version: version,
    telemetry_sdk_language: "nodejs",
    telemetry_sdk_name: "bunting",
    telemetry_sdk_version: version,
  };
  new Gauge({
    name: "target_info",
    help: "What produces these metrics.",
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1);
}
