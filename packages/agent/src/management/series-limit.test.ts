import { createRegistry, type Registry } from "@bunting/runtime";
import { expect } from "chai";
import { agentPrometheusMetrics } from "./prometheus-metrics.js";

/** What the text of one scrape may take beside the 32 MiB of heap in the image. */
const maxTextBytes = 3 * 1024 * 1024;

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "_OTHER"];
const statuses = [200, 204, 304, 400, 401, 404, 405, 408, 413, 415, 417, 429, 431, 500, 501, 503];
const codes = ["OK", "UNKNOWN", "INVALID_ARGUMENT", "NOT_FOUND", "UNAVAILABLE", "INTERNAL"] as const;
const systems = ["grpc", "grpc_web", "connect_rpc"] as const;
const reasons = ["normal_close", "client_disconnect", "deadline_exceeded", "error"] as const;

function seriesOf(text: string, name: string): string[] {
  return text.split("\n").filter((line) => line.startsWith(`${name}{`));
}

function total(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

describe("the series of the agent's metrics", () => {
  let registry: Registry;
  let text: string;

  before(async () => {
    registry = createRegistry(false);
    const metrics = agentPrometheusMetrics(registry);
    const record = { durationMs: 2, requestBytes: 2, responseBytes: 90 };
    for (let host = 0; host < 60; host++) {
      for (const method of methods) {
        for (const status of statuses) {
          for (const httpVersion of ["1.0", "1.1", "2.0"]) {
            const name = `${host}-${"h".repeat(200)}`;
            metrics.httpRequest("ofrep", "", { ...record, method, status, httpVersion, host: name });
          }
        }
        metrics.httpRequest("evaluation", `/route/${host}/${"r".repeat(40)}`, {
          ...record,
          method,
          status: 200,
          httpVersion: "2.0",
          host: "a",
        });
      }
      for (const system of systems) {
        for (const code of codes) metrics.rpc(system, `/flagd.Service/Method${host}`, code, 1, 1, 1, 1);
      }
    }
    for (let selector = 0; selector < 60; selector++) {
      for (let provider = 0; provider < 60; provider++) {
        const labels = [`${selector}`.padEnd(64, "s"), `${provider}`.padEnd(64, "p")] as const;
        metrics.syncStreamOpened(...labels);
        for (const reason of reasons) {
          metrics.syncStreamOpened(...labels);
          metrics.syncStreamClosed(...labels, reason, 5);
        }
      }
    }
    for (let flag = 0; flag < 2_100; flag++) {
      metrics.evaluated(`flag-${flag}-${"k".repeat(60)}`, "TARGETING_MATCH", "on");
      metrics.ofrepEvaluated(`flag-${flag}-${"k".repeat(60)}`, "TARGETING_MATCH", "on");
    }
    text = await registry.metrics();
  });

  for (const [name, most] of [
    ["http_server_request_duration_seconds_count", 98],
    ["http_server_request_body_size_bytes_count", 65],
    ["http_server_response_body_size_bytes_count", 98],
    ["rpc_server_duration_milliseconds_count", 101],
    ["feature_flag_flagd_sync_active_streams", 101],
    ["feature_flag_flagd_sync_stream_duration_seconds_count", 101],
  ] as const) {
    it(`are few in ${name}, whatever clients send`, () => {
      expect(seriesOf(text, name)).to.have.length(most);
      expect(seriesOf(text, name).filter((line) => line.includes('otel_metric_overflow="true"'))).not.to.be
        .empty;
    });
  }

  it("lose no count", () => {
    const requests = 60 * methods.length * statuses.length * 3;
    expect(total(seriesOf(text, "http_server_request_body_size_bytes_count"))).to.equal(requests);
    const calls = seriesOf(text, "rpc_server_duration_milliseconds_count");
    expect(total(calls)).to.equal(60 * systems.length * codes.length);
    expect(total(seriesOf(text, "feature_flag_flagd_sync_active_streams"))).to.equal(3_600);
    const ended = seriesOf(text, "feature_flag_flagd_sync_stream_duration_seconds_count");
    expect(total(ended)).to.equal(3_600 * reasons.length);
  });

  it("have different labels, of at most 64 characters where clients choose them", () => {
    const names = text.split("\n").map((line) => line.replace(/ \S+$/, ""));
    expect(new Set(names.filter((name) => name.includes("{"))).size).to.equal(
      names.filter((name) => name.includes("{")).length,
    );
    for (const [, host] of text.matchAll(/server_address="([^"]*)"/g)) expect(host).to.have.length.below(65);
  });

  it("take little at one scrape", () => {
    expect(text.length).to.be.below(maxTextBytes);
  });

  it("count flags with very long keys as overflow", async () => {
    const own = createRegistry(false);
    const metrics = agentPrometheusMetrics(own);
    metrics.evaluated("k".repeat(300), "STATIC", "on");
    expect(await own.metrics()).to.contain(
      'feature_flag_flagd_impression_total{otel_metric_overflow="true"} 1',
    );
  });
});
