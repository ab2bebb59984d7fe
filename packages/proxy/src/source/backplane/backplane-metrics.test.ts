import { Registry } from "@bunting/runtime";
import { expect } from "chai";
import { backplaneMetrics, type BackplaneReport } from "./backplane-metrics.js";

describe("backplaneMetrics", () => {
  const linesOf = async (registry: Registry): Promise<string[]> =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith("bunting_proxy_backplane_"));

  it("is all zero for a proxy alone", async () => {
    const registry = new Registry();
    const metrics = backplaneMetrics.create(registry);
    expect(metrics.backplaneReport.read()).to.equal(undefined);
    for (const line of await linesOf(registry)) expect(line).to.match(/ 0$/);
  });

  it("tells the state, who is the owner, and what is written and refused", async () => {
    const registry = new Registry();
    const metrics = backplaneMetrics.create(registry);
    metrics.backplaneState("degraded");
    metrics.backplaneState("recovering");
    metrics.backplaneLease("given_up");
    metrics.backplaneWritten("confirm", 7);
    metrics.backplaneWriteFailed("fenced");
    metrics.backplaneRecordRefused("record_unverified");
    metrics.backplaneLag(2);
    const report: BackplaneReport = {
      state: "recovering",
      stateMs: 4_000,
      replica: "a",
      replicas: ["a", "b"],
      lease: { fence: 8, renewedAgoMs: 1_500 },
      followed: 3,
      direct: 2,
      forOthers: 1,
    };
    metrics.backplaneReport(() => report);
    expect(metrics.backplaneReport.read()).to.equal(report);
    const lines = await linesOf(registry);
    expect(lines).to.include.members([
      'bunting_proxy_backplane_lag_seconds_bucket{le="0.001"} 0',
      'bunting_proxy_backplane_lag_seconds_bucket{le="0.0025"} 1',
      "bunting_proxy_backplane_lag_seconds_sum 0.002",
    ]);
    expect(lines.filter((line) => !line.startsWith("bunting_proxy_backplane_lag_seconds"))).to.have.members([
      'bunting_proxy_backplane_state{state="connected"} 0',
      'bunting_proxy_backplane_state{state="degraded"} 0',
      'bunting_proxy_backplane_state{state="recovering"} 1',
      "bunting_proxy_backplane_replicas 2",
      "bunting_proxy_backplane_owner 1",
      "bunting_proxy_backplane_lease_age_seconds 1.5",
      'bunting_proxy_backplane_topics{role="followed"} 3',
      'bunting_proxy_backplane_topics{role="direct"} 2',
      'bunting_proxy_backplane_topics{role="for_others"} 1',
      'bunting_proxy_backplane_leases_total{event="given_up"} 1',
      'bunting_proxy_backplane_records_total{kind="confirm"} 7',
      'bunting_proxy_backplane_write_failures_total{code="fenced"} 1',
      'bunting_proxy_backplane_refused_records_total{code="record_unverified"} 1',
      ...["malformed", "foreign", "too_large", "no_room"].map(
        (code) => `bunting_proxy_backplane_refused_records_total{code="record_${code}"} 0`,
      ),
    ]);
  });
});
