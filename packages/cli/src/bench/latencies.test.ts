import { expect } from "chai";
import { Latencies, summaryOf } from "./latencies.js";

describe("Latencies", () => {
  it("gives percentiles that are wrong by a hundredth at most", () => {
    const latencies = new Latencies();
    for (let ms = 1; ms <= 10_000; ms++) latencies.add(ms);
    for (const share of [0.001, 0.1, 0.5, 0.9, 0.99, 0.999])
      expect(latencies.percentileMs(share) / (share * 10_000), `${share}`).to.be.within(0.98, 1.02);
    expect(latencies.percentileMs(1)).to.be.within(9_900, 10_000);
    expect(latencies).to.include({ count: 10_000, maxMs: 10_000 });
  });

  it("never says more than the longest", () => {
    const latencies = new Latencies();
    latencies.add(0.0001);
    latencies.add(7);
    expect(summaryOf(latencies)).to.include({ p99: 7, max: 7 });
    expect(summaryOf(new Latencies())).to.deep.equal({ p50: 0, p90: 0, p99: 0, p999: 0, max: 0 });
  });
});
