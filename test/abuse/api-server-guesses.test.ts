import { SourceBench } from "@bunting/proxy/internal/source/kubernetes/kubernetes.fixture.js";
import { expect } from "chai";

describe("Peers that guess names", () => {
  let bench: SourceBench;
  afterEach(() => bench.stop());

  const limits = { maxAbsent: 64 };
  const attacker = "192.0.2.1";
  const requests = (): number => bench.api.requests.filter(({ kind }) => kind !== "review").length;
  let guesses = 0;
  /** Subscribes to new names and leaves them again, at once or (true) when they are known to be missing. */
  const churn = async (rounds: number, topicOf: (index: number) => string, waits = false): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const flags = Array.from({ length: 40 }, () => bench.subscribe(topicOf(guesses++), attacker));
      await bench.pass(100, 50);
      if (waits) await bench.pass(100, 50);
      for (const { stop } of flags) stop();
    }
  };

  for (const [what, waits] of [
    ["when they are known to be missing", true],
    ["before that", false],
  ] as const) {
    it(`and leave them again ${what} cause 32 reads a second, after the first 64`, async () => {
      bench = await SourceBench.start({ planning: { limits, watchScope: "auto" } });
      const beforeMs = bench.clock.monotonicMs();
      await churn(12, (index) => `ns/guess-${index}`, waits);
      const seconds = (bench.clock.monotonicMs() - beforeMs) / 1_000;
      expect(requests(), `reads in ${seconds} s`).to.be.within(64, 64 + 32 * seconds + 1);
    });
  }

  it("of namespaces cause 32 reads a second with --watch-scope=namespace, too", async () => {
    bench = await SourceBench.start({ planning: { limits, watchScope: "namespace" } });
    await churn(12, (index) => `guess-${index}/flag`);
    expect(requests(), "reads in 1.2 s").to.be.within(64, 64 + 40);
  });

  it("of namespaces get no more watches than the budget while the API server is away", async () => {
    bench = await SourceBench.start({ planning: { limits, watchScope: "namespace" } });
    await bench.api.stop();
    for (let index = 0; index < 200; index++) bench.subscribe(`guess-${index}/flag`);
    await bench.until(() => bench.metrics.watches?.().unwatched === 136, "all but 64 to be read in turn");
    await bench.api.resume();
  });

  it("hold up neither the first read nor the next ones of 300 FeatureFlags that exist", async () => {
    bench = await SourceBench.start({ planning: { limits, watchScope: "object" } });
    const topics = Array.from({ length: 300 }, (_, index) => `ns/flag-${index}`);
    for (const topic of topics) bench.put(topic, 1);
    const flags = topics.slice(0, 60).map((topic) => bench.subscribe(topic));
    for (const from of [60, 120, 180, 240]) {
      const next = topics.slice(from, from + 60).map((topic) => bench.subscribe(topic));
      await bench.soon(() => next.every(({ reported }) => reported.length === 1), "all are reported at once");
      flags.push(...next);
    }
    await churn(12, (index) => `ns/guess-${index}`);
    for (const watch of bench.api.watches()) watch.end();
    for (const topic of topics) bench.put(topic, 2);
    const beforeMs = bench.clock.monotonicMs();
    await bench.until(() => flags.every(({ reported }) => reported.length === 2), "all are reported again");
    expect(bench.clock.monotonicMs() - beforeMs, "ms").to.be.below(2_000);
  });

  it("leave others their turn: who asks for one name waits for no more than one of each other address", async () => {
    bench = await SourceBench.start({ planning: { limits, watchScope: "object" } });
    bench.put("ns/flag", 1);
    await churn(4, (index) => `ns/guess-${index}`);
    const waiting = Array.from({ length: 60 }, (_, index) => bench.subscribe(`ns/wait-${index}`, attacker));
    const flag = bench.subscribe("ns/flag", "192.0.2.2");
    expect(bench.metrics.watches?.().waiting).to.be.within(40, 61);
    await bench.pass(100, 50);
    expect(flag.reported).to.have.length(1);
    expect(waiting.filter(({ reported }) => reported.length > 0).length, "of the attacker's").to.be.below(10);
    await bench.until(
      () => waiting.every(({ reported }) => reported.at(-1) === "missing"),
      "all are missing",
    );
  });
});
