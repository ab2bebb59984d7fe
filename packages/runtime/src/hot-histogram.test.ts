import { expect } from "chai";
import { HotHistogram } from "./hot-histogram.js";
import { createRegistry, Histogram } from "./metrics.js";

describe("HotHistogram", () => {
  it("has the same output for Prometheus as an ordinary histogram", async () => {
    const hot = createRegistry(false);
    const plain = createRegistry(false);
    const configuration = { name: "x_seconds", help: "An x.", buckets: [0.1, 1, 10] };
    const fast = new HotHistogram({ ...configuration, registers: [hot] });
    const slow = new Histogram({ ...configuration, registers: [plain] });
    for (const value of [0, 0.1, 0.11, 1, 5, 10, 11, 1_000]) {
      fast.record(value);
      slow.observe(value);
    }
    expect(await hot.metrics()).to.equal(await plain.metrics());
    const [json] = await hot.getMetricsAsJSON();
    expect(json).to.have.property("values").that.has.length(6);
  });

  it("shows all its buckets before anything was recorded", async () => {
    const registry = createRegistry(false);
    new HotHistogram({ name: "x_seconds", help: "An x.", buckets: [1], registers: [registry] });
    expect(await registry.metrics())
      .to.contain('x_seconds_bucket{le="+Inf"} 0')
      .and.to.contain("x_seconds_count 0");
  });
});
