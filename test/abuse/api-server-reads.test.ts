import type { TopicKey } from "@bunting/protocol";
import { SourceBench } from "@bunting/proxy/internal/source/kubernetes/kubernetes.fixture.js";
import { expect } from "chai";
import { faults } from "../support/faulty-api-server/index.js";

describe("Agents that claim to hold newer versions than there are", () => {
  let bench: SourceBench;
  let done: number;
  beforeEach(async () => {
    bench = await SourceBench.start();
    done = 0;
  });
  afterEach(() => bench.stop());

  const claim = (topic: string): (() => void) => bench.source.refresh(topic as TopicKey, () => done++);
  const requests = (): number => bench.api.requests.filter(({ kind }) => kind !== "review").length;
  const watched = async (count: number): Promise<string[]> => {
    const topics = Array.from({ length: count }, (_, index) => `ns/flag-${index}`);
    for (const topic of topics) bench.put(topic, 1);
    const all = topics.map((topic) => bench.subscribe(topic));
    await bench.until(() => all.every(({ reported }) => reported.length === 1), "all are reported");
    return topics;
  };

  it("drive at most one read a second of a FeatureFlag, and its watch stays", async () => {
    const [topic = ""] = await watched(1);
    const [watch] = bench.api.watches();
    const before = requests();
    for (let round = 0; round < 60; round++) {
      claim(topic);
      await bench.pass(50);
    }
    expect(requests() - before, "reads in 3 s").to.be.within(1, 4);
    await bench.until(() => done === 60, "all to be answered");
    expect(bench.api.watches()).to.deep.equal([watch]);
  });

  it("drive at most four reads a second of all FeatureFlags, and each has its turn", async () => {
    const topics = await watched(30);
    await bench.pass(1_000);
    const before = requests();
    const readOf = (topic: string): boolean =>
      bench.api.requests.slice(-1_000).some(({ kind, name }) => kind === "list" && topic === `ns/${name}`);
    for (let round = 0; round < 40; round++) {
      // The first one is claimed over and over.
      claim(topics[0] ?? "");
      if (round === 0) for (const topic of topics) claim(topic);
      await bench.pass(250);
    }
    expect(requests() - before, "reads in 10 s").to.be.within(30, 42);
    for (const topic of topics) expect(readOf(topic), topic).to.equal(true);
  });

  it("of many FeatureFlags leave others their turn: who claims one waits for no more than one read of each other address", async () => {
    const topics = await watched(100);
    await bench.pass(1_000);
    const before = requests();
    const refresh = (topic: string | undefined, asker: string, answered = (): void => undefined): void =>
      void bench.source.refresh(topic as TopicKey, answered, asker);
    for (const topic of topics) refresh(topic, "192.0.2.1");
    let isAnswered = false;
    refresh(topics[99], "192.0.2.2", () => (isAnswered = true));
    await bench.pass(1_000);
    expect(requests() - before, "reads in 1 s").to.be.within(3, 5);
    expect(isAnswered).to.equal(true);
  });

  it("are answered although the answers to others drip in", async () => {
    const topics = await watched(5);
    const drip = faults.dripped({ bytesPerWrite: 1, everyMs: 1_000 });
    bench.api.fault({ kind: "list", where: ({ name }) => name !== "flag-4" }, drip, Infinity);
    for (const topic of topics) claim(topic);
    await bench.pass(32_000, 500);
    expect(done).to.equal(1);
    bench.api.clearFaults();
    await bench.until(() => done === 5, "all to be answered");
  });

  it("leave nothing behind when they go", async () => {
    const [topic = ""] = await watched(1);
    await bench.api.stop();
    for (let index = 0; index < 1_000; index++) claim(topic)();
    await bench.api.resume();
    let isRead = false;
    bench.source.refresh(topic as TopicKey, () => (isRead = true));
    await bench.until(() => isRead, "the read");
    expect(done, "calls for those that left").to.equal(0);
  });
});
