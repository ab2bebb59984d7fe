import { createRegistry, processMetrics } from "@bunting/runtime";
import { expect } from "chai";
import { agentPrometheusMetrics } from "../management/prometheus-metrics.js";
import { otelAttribute, otelName } from "./otel-names.js";

describe("otelName", () => {
  it("gives flagd's metrics flagd's names, and cuts off of others what a collector adds for Prometheus", () => {
    const names = [
      "feature_flag_flagd_impression_total",
      "http_server_request_duration_seconds",
      "bunting_agent_store_update_seconds",
      "bunting_agent_sync_message_bytes_total",
      "bunting_agent_store_flags",
      "http_server_active_requests",
    ];
    expect(names.map((name) => otelName(name, name.endsWith("_total")))).to.deep.equal([
      { name: "feature_flag.flagd.impression", unit: "{impression}" },
      { name: "http.server.request.duration", unit: "s" },
      { name: "bunting_agent_store_update", unit: "s" },
      { name: "bunting_agent_sync_message", unit: "By" },
      { name: "bunting_agent_store_flags", unit: "" },
      { name: "http.server.active_requests", unit: "{request}", isUpDown: true },
    ]);
  });

  it("gives no two metrics of the agent one name: a collector adds _total to counters alone", async () => {
    const registry = createRegistry(false);
    processMetrics(registry);
    const metrics = agentPrometheusMetrics(registry);
    metrics.watches();
    metrics.remotes();
    const families = await registry.getMetricsAsJSON();
    const names = families.map(({ name, type }) => otelName(name, String(type) === "counter").name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).to.deep.equal([]);
    expect(names).to.include.members(["nodejs_active_resources", "nodejs_active_resources_total"]);
  });
});

describe("otelAttribute", () => {
  it("puts dots where OpenTelemetry has them, and leaves our own labels as they are", () => {
    const labels = ["http_response_status_code", "feature_flag_key", "source"];
    expect(labels.map(otelAttribute)).to.deep.equal([
      "http.response.status_code",
      "feature_flag.key",
      "source",
    ]);
  });
});
