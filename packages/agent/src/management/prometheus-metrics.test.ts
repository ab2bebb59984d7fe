import { createRegistry } from "@bunting/runtime";
import { expect } from "chai";
import { agentPrometheusMetrics } from "./prometheus-metrics.js";

describe("the agent's metrics", () => {
  it("have those of watches only where there is one", async () => {
    const registry = createRegistry(false);
    const metrics = agentPrometheusMetrics(registry);
    expect(await registry.metrics()).to.not.contain("bunting_agent_source_");
    metrics.watches().relisted("start");
    metrics.watches().relisted("expired");
    metrics.watches().watchEvent("MODIFIED");
    metrics.watches().watchFailed("forbidden");
    const text = await registry.metrics();
    expect(text).to.contain('bunting_agent_source_relists_total{reason="expired"} 1');
    expect(text).to.contain('bunting_agent_source_watch_events_total{type="MODIFIED"} 1');
    expect(text).to.contain('bunting_agent_source_errors_total{kind="forbidden"} 1');
  });

  it("count evaluations by flag, variant and reason under flagd's names", async () => {
    const registry = createRegistry(false);
    const metrics = agentPrometheusMetrics(registry);
    for (let i = 0; i < 3; i++) metrics.evaluated("a", "STATIC", "on");
    metrics.evaluated("a", "TARGETING_MATCH", "on");
    metrics.evaluationFailed("b", "FLAG_NOT_FOUND");
    const text = await registry.metrics();
    expect(text).to.contain(
      'feature_flag_flagd_impression_total{feature_flag_provider_name="flagd",feature_flag_key="a",feature_flag_reason="STATIC",feature_flag_result_variant="on"} 3',
    );
    expect(text).to.contain(
      '{feature_flag_provider_name="flagd",feature_flag_reason="ERROR",ExceptionTypeKeyName="FLAG_NOT_FOUND"} 1',
    );
    expect(await registry.metrics(), "asking twice counts nothing twice").to.equal(text);
  });

  it("keep the number of series bounded, whatever clients request, and lose no count", async () => {
    const registry = createRegistry(false);
    const metrics = agentPrometheusMetrics(registry);
    for (let i = 0; i < 2_500; i++) metrics.evaluated(`flag-${i}`, "STATIC", "on");
    const text = await registry.metrics();
    expect(text.match(/^feature_flag_flagd_impression_total\{/gm)).to.have.length(2_001);
    expect(text).to.contain('feature_flag_flagd_impression_total{otel_metric_overflow="true"} 500');
  });

  it("count calls of gRPC by method and status, and as requests of HTTP where flagd does", async () => {
    const registry = createRegistry(false);
    const metrics = agentPrometheusMetrics(registry);
    const path = "/flagd.evaluation.v2.Service/ResolveBoolean";
    metrics.grpcCalls(true)(path, "NOT_FOUND", 7, 20, 0, 0);
    metrics.grpcCalls(false)("/flagd.sync.v1.FlagSyncService/SyncFlags", "CANCELLED", 7, 20, 30, 1);
    metrics.rpc("connect_rpc", path, "NOT_FOUND", 1, 1, 1, 1);
    const text = await registry.metrics();
    const labels = 'rpc_system="grpc",rpc_service="flagd.evaluation.v2.Service",rpc_method="ResolveBoolean"';
    expect(text).to.contain(
      `rpc_server_duration_milliseconds_bucket{le="5",${labels},rpc_grpc_status_code="5"} 0`,
    );
    expect(text).to.contain(
      `rpc_server_duration_milliseconds_bucket{le="10",${labels},rpc_grpc_status_code="5"} 1`,
    );
    expect(text).to.contain(`rpc_server_response_size_bytes_count{${labels},rpc_grpc_status_code="5"} 1`);
    expect(text).to.contain('rpc_connect_rpc_error_code="not_found"} 1');
    expect(text).to.match(
      /rpc_server_duration_milliseconds_count\{.*SyncFlags",rpc_grpc_status_code="0"\} 1/,
    );
    expect(text).to.match(/http_server_request_duration_seconds_count\{.*ResolveBoolean".*\} 1/);
    expect(text).not.to.match(/http_route=".*SyncFlags"/);
  });

  it("label requests with their route and the status that was sent, and sources with their index", async () => {
    const registry = createRegistry(false);
    const metrics = agentPrometheusMetrics(registry);
    metrics.httpRequest("ofrep", "/ofrep/v1/evaluate/flags/{key}", {
      method: "POST",
      status: 404,
      durationMs: 2,
      requestBytes: 2,
      responseBytes: 90,
      httpVersion: "1.1",
      host: "localhost:8016",
    });
    metrics.connected(1, true);
    metrics.flagsRejected(0, 2);
    const text = await registry.metrics();
    expect(text).to.match(
      /http_server_request_duration_seconds_count\{.*http_response_status_code="404".*server_address="localhost".*\} 1/,
    );
    expect(text, "as in flagd, a route has no status but 200").to.match(
      /http_server_request_duration_seconds_count\{.*http_response_status_code="200".*http_route="\/ofrep\/v1\/evaluate\/flags\/\{key\}".*\} 1/,
    );
    expect(text).to.contain('bunting_agent_sync_connected{source="1"} 1');
    expect(text).to.contain('bunting_agent_store_rejected_flags{source="0"} 2');
  });
});
