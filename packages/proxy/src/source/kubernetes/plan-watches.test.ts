import { topicKey } from "@bunting/protocol";
import { expect } from "chai";
import { planWatches, type PlanInput, type PlannedFlag } from "./plan-watches.js";
import { clusterKey, namespaceKey, type WatchKey } from "./watch-key.js";

describe("planWatches", () => {
  type Existence = PlannedFlag["existence"];
  const flagsIn = (namespace: string, count: number, existence: Existence = "exists"): PlannedFlag[] =>
    Array.from({ length: count }, (_, index) => ({
      topic: topicKey(namespace, `${existence}-${index}`),
      namespace,
      existence,
    }));
  /** As many FeatureFlags that exist, in namespaces ns0, ns1, … */
  const existing = (counts: readonly number[]): PlannedFlag[] =>
    counts.flatMap((count, index) => flagsIn(`ns${index}`, count));
  const plan = (flags: readonly PlannedFlag[], input: Partial<PlanInput> = {}): Set<WatchKey> =>
    planWatches({ watchScope: "auto", flags, current: new Set(), isAllowed: () => true, ...input });
  /** The namespaces that are watched as a whole, or `cluster`. */
  const wider = (counts: readonly number[], input: Partial<PlanInput> = {}): string => {
    const keys = plan(existing(counts), input);
    if (keys.has(clusterKey)) return "cluster";
    return [...keys].flatMap((key) => (key.endsWith("/*") ? [key.slice(0, -2)] : [])).join(" ");
  };
  const many = (count: number, each: number): number[] => new Array<number>(count).fill(each);
  const namespaces = (count: number): { current: Set<WatchKey> } => ({
    current: new Set(many(count, 0).map((_, index) => namespaceKey(`ns${index}`))),
  });
  const cluster = { current: new Set([clusterKey]) };

  const some = [...flagsIn("a", 1), ...flagsIn("b", 1, "absent"), ...flagsIn("b", 1, "unknown")];
  const inOrder: readonly (readonly [
    string,
    Partial<PlanInput>,
    readonly PlannedFlag[],
    readonly string[],
  ])[] = [
    ["nothing for no FeatureFlags", {}, [], []],
    ["each FeatureFlag, whether or not it exists", {}, some, some.map(({ topic }) => topic)],
    ["a namespace instead of its 4", {}, flagsIn("a", 4), ["a/*"]],
    [
      "a namespace with those of it that do not exist, and other FeatureFlags one by one",
      {},
      [...flagsIn("a", 4), ...flagsIn("a", 2, "absent"), ...some.slice(1)],
      ["a/*", "b/absent-0", "b/unknown-0"],
    ],
    [
      "3 and one that does not exist one by one",
      {},
      [...flagsIn("a", 3), ...flagsIn("a", 1, "absent")],
      ["a/exists-0", "a/exists-1", "a/exists-2", "a/absent-0"],
    ],
    ["the cluster instead of 3 namespaces", {}, ["a", "b", "c"].flatMap((name) => flagsIn(name, 4)), ["*/*"]],
    [
      "the first 5 that exist, and the first 2 that do not",
      { watchScope: "object" },
      [...flagsIn("a", 6), ...flagsIn("b", 3, "absent"), ...flagsIn("c", 1, "unknown")],
      [...[0, 1, 2, 3, 4].map((index) => `a/exists-${index}`), "b/absent-0", "b/absent-1", "c/unknown-0"],
    ],
    ["namespaces, also of FeatureFlags that do not exist", { watchScope: "namespace" }, some, ["a/*", "b/*"]],
    ["the cluster, even for no FeatureFlags", { watchScope: "cluster" }, [], ["*/*"]],
    [
      "a namespace that is allowed, and objects of one that is not",
      {},
      [...flagsIn("a", 4), ...flagsIn("no", 4)],
      ["a/*", ...flagsIn("no", 4).map(({ topic }) => topic)],
    ],
  ];
  const limits = {
    namespaceFrom: 4,
    namespaceDownTo: 2,
    maxNamespaceWatches: 2,
    maxWatches: 20,
    maxExisting: 5,
    maxAbsent: 2,
  };
  for (const [what, input, flags, wanted] of inOrder) {
    it(`wants ${what}`, () => {
      const isAllowed = (namespace?: string): boolean => namespace !== "no";
      expect([...plan(flags, { limits, isAllowed, ...input })]).to.deep.equal(wanted);
    });
  }

  it("watches 31 FeatureFlags of a namespace one by one, and 32 together", () => {
    expect(wider([31])).to.equal("");
    expect(wider([32, 31])).to.equal("ns0");
  });

  it("goes back at 16 of them", () => {
    expect(wider([17], namespaces(1))).to.equal("ns0");
    expect(wider([16], namespaces(1))).to.equal("");
  });

  it("watches 300 FeatureFlags one by one, each in a namespace of its own", () => {
    expect(wider(many(300, 1))).to.equal("");
  });

  it("watches the cluster above 200 namespace watches", () => {
    expect(wider(many(200, 32))).not.to.equal("cluster");
    expect(wider(many(201, 32))).to.equal("cluster");
  });

  it("watches the cluster above 2,000 watches: 31 in each of 65 namespaces, but not 2,001 in one", () => {
    expect(wider([...many(64, 31), 16])).to.equal("");
    expect(wider(many(65, 31))).to.equal("cluster");
    expect(wider([2_001])).to.equal("ns0");
  });

  it("goes back from the cluster at half of either", () => {
    expect(wider(many(64, 16), cluster)).to.equal("cluster");
    expect(wider(many(62, 16), cluster)).to.equal("");
    expect(wider(many(101, 32), cluster)).to.equal("cluster");
    expect(wider(many(100, 32), cluster).split(" ")).to.have.length(100);
  });

  it("counts no FeatureFlag that does not exist", () => {
    const flags = [...flagsIn("ns0", 31), ...flagsIn("ns0", 100_000, "absent")];
    const keys = plan(flags);
    expect([keys.has(namespaceKey("ns0")), keys.has(clusterKey)]).to.deep.equal([false, false]);
  });

  it("stays narrow where RBAC allows no more, and asks only about what it would use", () => {
    const asked: (string | undefined)[] = [];
    const isAllowed = (namespace?: string): boolean => {
      asked.push(namespace);
      return namespace === "ns1";
    };
    expect(wider([40, 40, 3], { isAllowed })).to.equal("ns1");
    expect(asked).to.deep.equal(["ns0", "ns1"]);
    expect(wider(many(65, 31), { isAllowed: () => false })).to.equal("");
  });

  it("keeps to the scope that is given", () => {
    expect(wider(many(65, 100), { watchScope: "object" })).to.equal("");
    expect(wider([1, 1], { watchScope: "namespace" })).to.equal("ns0 ns1");
    expect(wider([1], { watchScope: "cluster" })).to.equal("cluster");
  });

  describe("with more FeatureFlags than may be watched one by one", () => {
    const admitted = (flags: readonly PlannedFlag[], keys: ReadonlySet<WatchKey>): number =>
      flags.filter(({ topic }) => keys.has(topic)).length;
    const narrow = (flags: readonly PlannedFlag[], current = new Set<WatchKey>()): Set<WatchKey> =>
      plan(flags, { current, isAllowed: () => false });

    it("watches the first 2,000 that exist and the first 512 that do not, for good", () => {
      const [there, missing] = [flagsIn("ns", 2_001), flagsIn("ns", 513, "absent")];
      let keys = new Set<WatchKey>();
      for (let turn = 0; turn < 2; turn++) {
        keys = narrow([...missing, ...there], keys);
        expect(admitted(there, keys)).to.equal(2_000);
        expect(admitted(missing, keys)).to.equal(512);
      }
      const [first, last] = [there[0], there.at(-1)] as [PlannedFlag, PlannedFlag];
      expect(keys.has(last.topic)).to.equal(false);
      // The first one is not subscribed to any more, and then again.
      keys = narrow([...there.slice(1), first], keys);
      expect(keys.has(last.topic)).to.equal(true);
      expect(keys.has(first.topic)).to.equal(false);
    });

    it("gives those of which it does not know yet whether they exist 512 watches of their own", () => {
      const [unknown, missing] = [flagsIn("ns", 3_000, "unknown"), flagsIn("ns", 512, "absent")];
      const keys = narrow([...unknown, ...missing]);
      expect(admitted(unknown, keys)).to.equal(512);
      expect(admitted(missing, keys)).to.equal(512);
    });

    it("watches the first 512 namespaces without any that exists, and all others", () => {
      const empty = Array.from({ length: 513 }, (_, index) => flagsIn(`empty${index}`, 2, "absent")).flat();
      const others = [
        ...flagsIn("there", 1),
        ...flagsIn("there", 1, "absent"),
        ...flagsIn("new", 1, "unknown"),
      ];
      const keys = plan([...empty, ...others], { watchScope: "namespace" });
      expect(keys.size).to.equal(514);
      expect(keys.has(namespaceKey("empty511")) && keys.has(namespaceKey("there"))).to.equal(true);
      expect(keys.has(namespaceKey("empty512"))).to.equal(false);
    });

    it("watches the first 512 namespaces of which nothing is known yet", () => {
      const unknown = Array.from({ length: 600 }, (_, index) =>
        flagsIn(`new${index}`, 1, index % 2 === 0 ? "unknown" : "absent").concat(
          flagsIn(`new${index}`, 1, "unknown"),
        ),
      ).flat();
      const keys = plan([...unknown, ...flagsIn("there", 1)], { watchScope: "namespace" });
      expect(keys.size).to.equal(513);
      expect(keys.has(namespaceKey("new511")) && keys.has(namespaceKey("there"))).to.equal(true);
    });

    it("gives the place of one that did not exist to another when it comes to be", () => {
      const missing = flagsIn("ns", 513, "absent");
      expect(admitted(missing, narrow(missing))).to.equal(512);
      const flags = missing.map((flag, index): PlannedFlag =>
        index === 0 ? { ...flag, existence: "exists" } : flag,
      );
      expect(admitted(flags, narrow(flags))).to.equal(513);
    });
  });
});
