import { SourceBench } from "@bunting/proxy/internal/source/kubernetes/kubernetes.fixture.js";
import { expect } from "chai";
import { faults } from "../support/faulty-api-server/index.js";

describe("An API server that closes all watches in good order and then answers nothing", () => {
  let bench: SourceBench;
  afterEach(() => bench.stop());

  it("makes every FeatureFlag stale after 5 s, whether or not its watch had its turn", async () => {
    bench = await SourceBench.start({ planning: { watchScope: "object" } });
    const topics = Array.from({ length: 100 }, (_, index) => `ns/flag-${index}`);
    for (const topic of topics) bench.put(topic, 1);
    const flags = topics.map((topic) => bench.subscribe(topic));
    await bench.until(() => flags.every(({ reported }) => reported.length === 1), "all are reported");
    await bench.watches(...topics);
    await bench.pass(1_000);
    bench.api.fault({}, faults.hang(), Infinity);
    const before = bench.api.requests.length;
    for (const watch of bench.api.watches()) watch.end();
    await bench.until(() => bench.api.requests.length >= before + 20, "the first to be opened again");
    await bench.pass(6_000);
    expect(bench.api.requests.length - before, "requests").to.equal(20);
    for (const { topic, reported } of flags) expect(reported.slice(1), topic).to.deep.equal(["stale"]);
  });
});
