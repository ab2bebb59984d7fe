import { expect } from "chai";
import { histogram } from "./metric-kinds.js";
import { label } from "./labelled-values.js";
import { createRegistry, Histogram } from "./metrics.js";

describe("histogram", () => {
  it("has the same output for Prometheus as an ordinary histogram", async () => {
    const hot = createRegistry(false);
    const plain = createRegistry(false);
    const buckets = [0.1, 1, 10];
    const fast = histogram("x_seconds", "An x.", buckets).create([hot]);
    const slow = new Histogram({ name: "x_seconds", help: "An x.", buckets, registers: [plain] });
    const labelled = histogram("y", "A y.", buckets, label("a", "1", "2"), label<string>("b")).create([hot]);
    const labelNames = ["a", "b"];
    const slowLabelled = new Histogram({ name: "y", help: "A y.", buckets, labelNames, registers: [plain] });
    for (const value of [0, 0.1, 0.11, 1, 5, 10, 11, 1_000]) {
      fast(value * 1_000);
      slow.observe(value);
      labelled("2", String(value > 5), value);
      slowLabelled.observe({ a: "2", b: String(value > 5) }, value);
    }
    expect(await hot.metrics()).to.equal(await plain.metrics());
    const [json] = await hot.getMetricsAsJSON();
    expect(json).to.have.property("values").that.has.length(6);
  });

  it("shows all its buckets before anything was recorded", async () => {
    const registry = createRegistry(false);
    histogram("x_seconds", "An x.", [1]).create([registry]);
    expect(await registry.metrics())
      .to.contain('x_seconds_bucket{le="+Inf"} 0')
      .and.to.contain("x_seconds_count 0");
  });
});
