import { expect } from "chai";
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
    expect(names.map(otelName)).to.deep.equal([
      { name: "feature_flag.flagd.impression", unit: "{impression}" },
      { name: "http.server.request.duration", unit: "s" },
      { name: "bunting_agent_store_update", unit: "s" },
      { name: "bunting_agent_sync_message", unit: "By" },
      { name: "bunting_agent_store_flags", unit: "" },
      { name: "http.server.active_requests", unit: "{request}", isUpDown: true },
    ]);
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
