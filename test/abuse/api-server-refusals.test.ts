import {
  SourceBench,
  type Subscribed,
} from "@bunting/proxy/internal/source/kubernetes/kubernetes.fixture.js";
import { expect } from "chai";
import { faults, status } from "../support/faulty-api-server/index.js";

describe("An API server that refuses", () => {
  let bench: SourceBench;
  afterEach(() => bench.stop());

  const names = (count: number, prefix: string): string[] =>
    Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const requests = (): number => bench.api.requests.filter(({ kind }) => kind !== "review").length;
  const subscribe = (topics: readonly string[]): Subscribed[] =>
    topics.map((topic) => bench.subscribe(topic));
  const existing = async (topics: readonly string[]): Promise<Subscribed[]> => {
    for (const topic of topics) bench.put(topic, 1);
    const flags = subscribe(topics);
    await bench.until(() => flags.every(({ reported }) => reported.length === 1), "all are reported");
    return flags;
  };

  it("because there is no such type is asked now and then, not for each of 300 topics", async () => {
    bench = await SourceBench.start();
    await bench.api.deleteCrd();
    const flags = subscribe(names(300, "ns/flag"));
    await bench.pass(30_000);
    expect(requests(), "requests in 30 s").to.be.below(60);
    for (const { topic, reported } of flags) expect(reported, topic).to.deep.equal(["stale"]);
    bench.api.createCrd();
    bench.put("ns/flag-7", 1);
    await bench.until(() => flags.every(({ reported }) => reported.length === 2), "all are reported");
    expect(flags[7]?.reported).to.deep.equal(["stale", String(bench.api.revision)]);
  });

  for (const [what, code, headers] of [
    ["because it is not ready", 503, {}],
    ["because there are too many requests", 429, { "retry-after": "1" }],
  ] as const) {
    it(`${what} (${code}) is asked now and then, not for each of 200 topics, until it answers`, async () => {
      bench = await SourceBench.start();
      const topics = names(200, "ns/flag");
      const flags = await existing(topics.slice(0, 20));
      flags.push(...subscribe(topics.slice(20)));
      await bench.until(() => flags.every(({ reported }) => reported.length === 1), "all are reported");
      bench.api.fault({ kind: "watch" }, faults.answer(code, "not now\n", headers), Infinity);
      bench.api.cut();
      await bench.until(() => bench.api.watches().length === 0, "the outage");
      const before = requests();
      await bench.pass(30_000);
      expect(requests() - before, "requests in 30 s").to.be.below(60);
      for (const { topic, reported } of flags) expect(reported.slice(1), topic).to.deep.equal(["stale"]);
      bench.api.clearFaults();
      await bench.until(() => flags.every(({ reported }) => reported.length === 3), "all are reported again");
    });
  }

  it("a namespace watch once, although RBAC allows it, gets no watch of a single FeatureFlag for that", async () => {
    bench = await SourceBench.start();
    const flags = await existing(names(40, "ns/flag"));
    await bench.watches("ns/*");
    const before = bench.api.requests.length;
    bench.api.fault({ name: null, kind: "watch" }, faults.answer(403, status(403, "Forbidden", "not now")));
    for (const watch of bench.api.watches()) watch.end();
    await bench.until(
      () => bench.api.requests.length >= before + 4,
      "the refusal, two reviews, and the next try",
    );
    await bench.watches("ns/*");
    await bench.pass(10_000);
    expect(bench.api.requests.slice(before).filter(({ name }) => name !== undefined)).to.have.length(0);
    bench.put("ns/flag-0", 2);
    await bench.soon(() => flags[0]?.reported.length === 2, "an edit");
  });

  it("every name but those of one namespace is asked eight times a second, whatever is guessed", async () => {
    bench = await SourceBench.start();
    bench.api.setAllowed(({ namespace }) => namespace === "ok");
    const [flag] = await existing(["ok/a"]);
    const guessed = subscribe(Array.from({ length: 600 }, (_, index) => `guess-${index}/flag`));
    await bench.until(() => bench.metrics.watches?.().unwatched === 88, "more than the budget");
    const tried = (): Set<string | undefined> =>
      new Set(bench.api.requests.map(({ namespace }) => namespace));
    await bench.until(() => tried().size >= 601, "a try for each");
    const before = requests();
    await bench.pass(20_000);
    expect(requests() - before, "requests in 20 s").to.be.below(200);
    // Meanwhile nothing is wrong where it allows them.
    const [other] = await existing(["ok/b"]);
    bench.put("ok/a", 2);
    await bench.soon(() => flag?.reported.length === 2, "an edit");
    expect(other?.reported).to.have.length(1);
    // A new role counts soon, for all.
    bench.api.setAllowed(() => true);
    await bench.until(
      () => guessed.slice(0, 500).every(({ reported }) => reported.at(-1) === "missing"),
      "all are missing",
    );
  });

  it("nothing, but has no namespace of 530 that were guessed, gets 512 namespace watches", async () => {
    bench = await SourceBench.start({ planning: { watchScope: "namespace" } });
    const guessed = subscribe(Array.from({ length: 530 }, (_, index) => `guess-${index}/flag`));
    await bench.until(
      () => guessed.every(({ reported }) => reported.at(-1) === "missing"),
      "all are missing",
    );
    await bench.until(() => bench.scopes.length <= 513, "512 watches and one read");
    bench.put("guess-529/flag", 1);
    await bench.until(() => guessed[529]?.reported.length === 2, "the one that came to be");
    await bench.until(() => bench.scopes.includes("guess-529/*"), "its watch");
  });

  it("namespace watches gets no more object watches than its budget in their place, however many names are guessed", async () => {
    bench = await SourceBench.start({ planning: { limits: { maxAbsent: 64 }, watchScope: "auto" } });
    await existing(names(32, "ns/flag"));
    await bench.watches("ns/*");
    const armed = bench.api.fault({ name: null, kind: "watch" }, faults.answer(503, "not ready\n"), Infinity);
    for (const watch of bench.api.watches()) watch.end();
    await bench.until(() => armed.struck > 0, "the refusal");
    const guessed = subscribe(names(72, "ns/guess"));
    await bench.until(
      () => guessed.every(({ reported }) => reported.at(-1) === "missing"),
      "all are missing",
    );
    // Reads of names that can't be watched come and go; watches would stay.
    await bench.until(() => bench.scopes.length <= 65, "64 watches and one read");
    bench.api.clearFaults();
    await bench.watches("ns/*");
  });
});
