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
    metrics.grpcCalls(true).onCallEnd(path, "NOT_FOUND", 7, 20, 0, 0);
    metrics.grpcCalls(false).onCallEnd("/flagd.sync.v1.FlagSyncService/SyncFlags", "CANCELLED", 7, 20, 30, 1);
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

  it("count what the sync stage and the store do, by source", async () => {
    const registry = createRegistry(false);
    const metrics = agentPrometheusMetrics(registry);
    metrics.empty(1, true);
    metrics.stale(1, true);
    metrics.readUnconfirmed(() => [[1, 2_500]]);
    metrics.documentConfirmed(1, 1_700_000_000_500);
    metrics.documentReceived(1);
    metrics.speaks(1, "flagd.sync.v1");
    metrics.messageReceived(1, "delta", 20);
    metrics.messageReceived(1, "delta", 30);
    metrics.nacked(1, "mismatch");
    metrics.sourceFailed(1, "silent");
    metrics.streamRenewed(1, "taken_over");
    metrics.documentApplied(20);
    metrics.documentBytes(1, 300);
    metrics.documentRefused(1, "DOCUMENT_INVALID");
    metrics.flagsServed(9);
    metrics.lastKnownGoodFailed(1);
    metrics.connectionEnded("flood");
    metrics.unadmitted("wrong");
    metrics.longRequests(() => ({ waiting: 4 }));
    const lines = (await registry.metrics()).split("\n");
    expect(lines).to.include.members([
      'bunting_agent_sync_empty{source="1"} 1',
      'bunting_agent_sync_stale{source="1"} 1',
      'bunting_agent_sync_unconfirmed_seconds{source="1"} 2.5',
      'bunting_agent_sync_last_document_timestamp_seconds{source="1"} 1700000000.5',
      'bunting_agent_sync_documents_total{source="1"} 1',
      'bunting_agent_sync_protocol{source="1",protocol="bunting.sync.v1"} 0',
      'bunting_agent_sync_protocol{source="1",protocol="flagd.sync.v1"} 1',
      'bunting_agent_sync_messages_total{source="1",kind="delta"} 2',
      'bunting_agent_sync_message_bytes_total{source="1",kind="delta"} 50',
      'bunting_agent_sync_nacks_total{source="1",reason="mismatch"} 1',
      'bunting_agent_sync_failures_total{source="1",reason="silent"} 1',
      'bunting_agent_sync_stream_renewals_total{source="1",result="taken_over"} 1',
      'bunting_agent_store_update_seconds_bucket{le="0.01"} 0',
      'bunting_agent_store_update_seconds_bucket{le="0.025"} 1',
      'bunting_agent_store_document_bytes{source="1"} 300',
      'bunting_agent_store_refused_documents_total{source="1",code="DOCUMENT_INVALID"} 1',
      "bunting_agent_store_flags 9",
      'bunting_agent_store_last_known_good_failures_total{source="1"} 1',
      'bunting_agent_api_connections_ended_total{reason="flood"} 1',
      'bunting_agent_api_unauthenticated_total{reason="wrong"} 1',
      "bunting_agent_api_long_requests_waiting 4",
    ]);
  });
});
