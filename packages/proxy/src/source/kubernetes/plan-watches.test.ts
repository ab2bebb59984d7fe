import { expect } from "chai";
import { nothingWide, planWatches, type PlanInput, type WatchPlan } from "./plan-watches.js";

describe("planWatches", () => {
  const census = (existing: readonly number[], missing = 0): PlanInput["census"] =>
    new Map(existing.map((count, index) => [`ns${index}`, { existing: count, referenced: count + missing }]));
  const plan = (
    existing: readonly number[],
    current: WatchPlan = nothingWide,
    input: Partial<PlanInput> = {},
  ): string => {
    const { cluster, namespaces } = planWatches({
      watchScope: "auto",
      census: census(existing),
      current,
      isAllowed: () => true,
      ...input,
    });
    return cluster ? "cluster" : [...namespaces].join(" ");
  };
  const many = (count: number, each: number): number[] => new Array<number>(count).fill(each);
  const wide = (count: number): WatchPlan => ({
    cluster: false,
    namespaces: new Set(many(count, 0).map((_, index) => `ns${index}`)),
  });
  const cluster: WatchPlan = { cluster: true, namespaces: new Set() };

  it("watches 31 FeatureFlags of a namespace one by one, and 32 together", () => {
    expect(plan([31])).to.equal("");
    expect(plan([32, 31])).to.equal("ns0");
  });

  it("goes back at 16 of them", () => {
    expect(plan([17], wide(1))).to.equal("ns0");
    expect(plan([16], wide(1))).to.equal("");
  });

  it("watches the cluster above 200 namespace watches", () => {
    expect(plan(many(200, 32))).not.to.equal("cluster");
    expect(plan(many(201, 32))).to.equal("cluster");
  });

  it("watches the cluster above 2,000 watches: 31 in each of 65 namespaces, but not 2,001 in one", () => {
    expect(plan([...many(64, 31), 16])).to.equal("");
    expect(plan(many(65, 31))).to.equal("cluster");
    expect(plan([2_001])).to.equal("ns0");
  });

  it("goes back from the cluster at half of either", () => {
    expect(plan(many(64, 16), cluster)).to.equal("cluster");
    expect(plan(many(62, 16), cluster)).to.equal("");
    expect(plan(many(101, 32), cluster)).to.equal("cluster");
    expect(plan(many(100, 32), cluster).split(" ")).to.have.length(100);
  });

  it("counts no FeatureFlag that does not exist", () => {
    expect(plan([], nothingWide, { census: census([31], 100_000) })).to.equal("");
  });

  it("stays narrow where RBAC allows no more, and asks only about what it would use", () => {
    const asked: (string | undefined)[] = [];
    const isAllowed = (namespace?: string): boolean => {
      asked.push(namespace);
      return namespace === "ns1";
    };
    expect(plan([40, 40, 3], nothingWide, { isAllowed })).to.equal("ns1");
    expect(asked).to.deep.equal(["ns0", "ns1"]);
    expect(plan(many(65, 31), nothingWide, { isAllowed: () => false })).to.equal("");
  });

  it("keeps to the scope that is given", () => {
    expect(plan(many(65, 100), nothingWide, { watchScope: "object" })).to.equal("");
    expect(plan([1, 1], nothingWide, { watchScope: "namespace" })).to.equal("ns0 ns1");
    expect(plan([1], nothingWide, { watchScope: "cluster" })).to.equal("cluster");
  });
});
