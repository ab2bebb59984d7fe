import { SourceBench } from "@bunting/proxy/internal/source/kubernetes/kubernetes.fixture.js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import type { Fault } from "../support/faulty-api-server/index.js";

const objectBytes = 600 * 1024;
const objects = 120;

describe("An API server without WatchList and with big FeatureFlags", () => {
  let bench: SourceBench;
  afterEach(() => bench.stop());

  it("is read object by object, with turns for other work in between", async () => {
    bench = await SourceBench.start({ planning: { watchScope: "namespace" } });
    bench.api.setWatchList("invalid");
    bench.api.fault({ kind: "list" }, bigPage(), 1);
    let turns = 0;
    const count = (): void => {
      turns++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const turnOf = new Map<string, number>();
    const flags = [0, objects - 1].map((index) => bench.subscribe(`ns/flag-${index}`));
    try {
      await eventually(() => {
        for (const { topic, reported } of flags)
          if (reported.length > 0 && !turnOf.has(topic)) turnOf.set(topic, turns);
        bench.clock.advance(100);
        return turnOf.size === flags.length;
      }, "both to be read");
    } finally {
      clearImmediate(counting);
    }
    for (const { reported } of flags) expect(reported[0]).to.match(/^\d+$/);
    const [first = 0, last = 0] = flags.map(({ topic }) => turnOf.get(topic) ?? 0);
    expect(last - first, "turns for other work between the first and the last").to.be.above(objects);
  });

  it("is asked for smaller pages: by their bytes", async () => {
    bench = await SourceBench.start({ planning: { watchScope: "namespace" } });
    bench.api.setWatchList("invalid");
    for (let index = 0; index < 650; index++) {
      const spec = { flagSpec: { flags: {}, metadata: { filler: "x".repeat(64 * 1024) } } };
      bench.api.put("ns", `flag-${String(index).padStart(3, "0")}`, spec);
    }
    const flag = bench.subscribe("ns/flag-649");
    await eventually(() => (bench.clock.advance(100), flag.reported.length > 0), "the last");
    const limits = bench.api.requests.flatMap(({ kind, query }) =>
      kind === "list" ? [query.get("limit")] : [],
    );
    expect(limits[0]).to.equal("500");
    expect(Number(limits[1])).to.be.within(64, 128);
  });
});

/** A page of 70 MB, which this process never has in one piece. */
function bigPage(): Fault {
  return async (exchange): Promise<"handled"> => {
    exchange.head(200, { "content-type": "application/json" });
    const filler = "x".repeat(objectBytes);
    await exchange.write('{"apiVersion":"core.openfeature.dev/v1beta1","items":[');
    for (let index = 0; index < objects && !exchange.isClosed; index++) {
      const metadata = { name: `flag-${index}`, namespace: "ns", resourceVersion: "2", uid: `u-${index}` };
      const spec = { flagSpec: { flags: {}, metadata: { filler } } };
      await exchange.write(`${index === 0 ? "" : ","}${JSON.stringify({ metadata, spec })}`);
    }
    await exchange.write('],"kind":"FeatureFlagList","metadata":{"resourceVersion":"2"}}');
    await exchange.end();
    return "handled";
  };
}
