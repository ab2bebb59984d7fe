import { createRegistry } from "@bunting/runtime";
import { expect } from "chai";
import { prometheusMetrics } from "./prometheus-metrics.js";

describe("the agent's metrics", () => {
  it("count evaluations by flag, variant and reason under flagd's names", async () => {
    const registry = createRegistry(false);
    const metrics = prometheusMetrics(registry);
    for (let i = 0; i < 3; i++) metrics.evaluated("a", "STATIC", "on");
    metrics.evaluated("a", "TARGETING_MATCH", "on");
    metrics.evaluationFailed("b", "FLAG_NOT_FOUND");
    const text = await registry.metrics();
    expect(text).to.contain(
      'feature_flag_flagd_impression_total{feature_flag_key="a",feature_flag_result_variant="on",feature_flag_reason="STATIC",feature_flag_provider_name="flagd"} 3',
    );
    expect(text).to.contain(
      'feature_flag_reason="ERROR",feature_flag_provider_name="flagd",exception_type="FLAG_NOT_FOUND"} 1',
    );
    expect(await registry.metrics(), "asking twice counts nothing twice").to.equal(text);
  });

  it("keep the number of series bounded, whatever clients request, and lose no count", async () => {
    const registry = createRegistry(false);
    const metrics = prometheusMetrics(registry);
    for (let i = 0; i < 2_500; i++) metrics.evaluated(`flag-${i}`, "STATIC", "on");
    const text = await registry.metrics();
    expect(text.match(/^feature_flag_flagd_impression_total\{/gm)).to.have.length(2_001);
    expect(text).to.contain('feature_flag_flagd_impression_total{otel_metric_overflow="true"} 500');
  });

  it("label requests with their route and the status that was sent, and sources with their index", async () => {
    const registry = createRegistry(false);
    const metrics = prometheusMetrics(registry);
    metrics.httpRequest("ofrep", "/ofrep/v1/evaluate/flags/{key}", "POST", 404, 2, 90);
    metrics.connected(1, true);
    metrics.flagsRejected(0, 2);
    const text = await registry.metrics();
    expect(text).to.match(
      /http_server_request_duration_seconds_count\{.*http_response_status_code="404".*\} 1/,
    );
    expect(text).to.contain('bunting_agent_sync_connected{source="1"} 1');
    expect(text).to.contain('bunting_agent_store_rejected_flags{source="0"} 2');
  });
});
