import { KubeError } from "@bunting/kube";
import { createRegistry } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { processOfOperatorMetrics, reflectorMetrics } from "./process-of-operator-metrics.js";

const flagds = { group: "core.openfeature.dev", version: "v1beta1", plural: "flagds" };
const pods = { group: "", version: "v1", plural: "pods" };

describe("reflectorMetrics", () => {
  it("logs which types are missing or can't be watched, once a minute for each, and counts all failures", () => {
    const clock = new ManualClock();
    const logger = recordingLogger();
    const metrics = processOfOperatorMetrics.create(createRegistry(false));
    const reports = reflectorMetrics({ metrics, clock, logger });
    for (let times = 0; times < 3; times++)
      reports.error(new KubeError("NOT_FOUND", "404 page not found"), flagds);
    reports.error(new KubeError("FORBIDDEN", "no"), pods);
    reports.error(new KubeError("CONNECTION_REFUSED", "away"), pods);
    const said = (): unknown[] =>
      logger.lines.map(({ message, fields }) => [
        /CrdMissing|permissions/.exec(message)?.[0],
        (fields as { readonly type: string }).type,
      ]);
    const first = [
      ["CrdMissing", "flagds.core.openfeature.dev"],
      ["permissions", "pods"],
    ];
    expect(said()).to.deep.equal(first);
    clock.advance(60_000);
    reports.error(new KubeError("NOT_FOUND", "404 page not found"), flagds);
    expect(said()).to.deep.equal([...first, first[0]]);
    const counts = (["NOT_FOUND", "FORBIDDEN", "CONNECTION_REFUSED"] as const).map((code) =>
      metrics.watchFailed.read(code),
    );
    expect(counts).to.deep.equal([4, 1, 1]);
  });
});
