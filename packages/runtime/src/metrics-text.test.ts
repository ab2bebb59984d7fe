import { expect } from "chai";
import { histogram } from "./metric-kinds.js";
import { metricsText } from "./metrics-text.js";
import { Counter, createRegistry, Gauge, Histogram } from "./metrics.js";
import { ScrapedCounter } from "./scraped-counter.js";
import { ScrapedHistogram } from "./scraped-histogram.js";

describe("metricsText", () => {
  it("writes what prom-client writes", async () => {
    const registry = createRegistry(true);
    const registers = [registry];
    const configuration = { help: 'A\nb\\c "d".', labelNames: ["x", "y"], registers };
    new Counter({ ...configuration, name: "a_total" }).inc({ x: 'q"\\\n', y: "é" }, 3);
    const gauge = new Gauge({ ...configuration, name: "b" });
    for (const value of [Infinity, -Infinity, NaN, 1e21, 0.1]) gauge.set({ x: String(value) }, value);
    new Histogram({ ...configuration, name: "c", buckets: [1, 2] }).observe({ y: "1" }, 1.5);
    histogram("d", "H.", [1, 2]).create(registers)(2);
    const series = [
      { labels: { x: "1" }, counts: [1, 2, 3], sum: 4 },
      { labels: { x: "2", y: "" }, counts: [0, 0, 1], sum: 9 },
      { labels: {}, counts: [0, 0, 1], sum: 9 },
    ];
    new ScrapedHistogram({ ...configuration, name: "e", buckets: [1, 2] }, () => series);
    new ScrapedCounter({ ...configuration, name: "f_total" }, () => [{ labels: { x: "1" }, value: 1 }]);
    new Counter({ ...configuration, name: "g_total" });
    const own = Buffer.concat(await metricsText(registry)).toString();
    const [lines, expected] = [own, await registry.metrics()].map((text) =>
      text.split("\n").map((line) => line.replace(/^((?:process|nodejs)_.*) \S+$/, "$1 n")),
    );
    expect(lines).to.deep.equal(expected);
    expect(own).to.contain('e_bucket{le="+Inf",x="1"} 6');
  });

  it("comes in slices", async () => {
    const registry = createRegistry(false);
    const counter = new Counter({ name: "a_total", help: "A.", labelNames: ["x"], registers: [registry] });
    for (let i = 0; i < 3_000; i++) counter.inc({ x: `${"y".repeat(60)}${i}` });
    const slices = await metricsText(registry);
    expect(slices.length).to.be.above(10);
    for (const { length } of slices) expect(length).to.be.below(20_000);
  });
});
