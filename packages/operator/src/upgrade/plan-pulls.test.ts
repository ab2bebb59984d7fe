import { expect } from "chai";
import { newImage, oldImage, rolloutOf } from "./fleet.fixture.js";
import type { FleetPull } from "./fleet.js";
import { nodesWithImage, planPulls, type PullPlan } from "./plan-pulls.js";

const nowMs = 1_000_000;
const pull = (node: string, rest: Partial<FleetPull> = {}): FleetPull => ({
  ...{ name: `pull-${node}`, rollout: "uid-of-rollout", node, image: newImage },
  ...{ createdMs: nowMs - 1_000, state: "pulling" },
  ...rest,
});

describe("planPulls", () => {
  const planned = (
    pulls: readonly FleetPull[],
    wanted: readonly string[] | undefined,
    settings: Parameters<typeof rolloutOf>[0] = {},
  ): PullPlan => planPulls({ rollout: rolloutOf({ prePulls: true, ...settings }), pulls, wanted, nowMs });
  const names = ({ remove }: PullPlan): string[] => remove.map(({ name }) => name);

  it("has each node pull once, and as many at a time as Pods may be under way", () => {
    expect(planned([pull("a")], ["a", "b", "b", "c"], { maxInFlight: 3 }).create).to.deep.equal(["b", "c"]);
    expect(planned([pull("a")], ["b", "c"], { maxInFlight: 2 }).create).to.deep.equal(["b"]);
    const ended = [pull("a", { state: "pulled" }), pull("d", { createdMs: nowMs - 120_000 })];
    expect(planned(ended, ["b", "c"], { maxInFlight: 2 }).create, "those don't count").to.deep.equal([
      "b",
      "c",
    ]);
  });

  it("names nodes that can't pull, and asks one again that has refused, after the deadline", () => {
    const failed = pull("b", { state: "failed", trouble: "OutOfpods" });
    const backOff = pull("a", { trouble: "ErrImagePull" });
    const plan = planned([failed, backOff, pull("c")], ["b"]);
    expect(plan.troubled.map(({ node }) => node)).to.deep.equal(["a", "b"]);
    expect([plan.create, names(plan), plan.dueMs]).to.deep.equal([[], [], nowMs + 119_000]);
    const later = planned([{ ...failed, createdMs: nowMs - 120_000 }], ["b"]);
    expect([later.create, names(later), later.troubled]).to.deep.equal([["b"], ["pull-b"], []]);
  });

  it("removes what is of no more use, and nothing of another rollout", () => {
    const pulls = [
      pull("a", { state: "pulled" }),
      pull("b", { image: oldImage }),
      pull("c", { rollout: "other" }),
    ];
    expect(names(planned(pulls, []))).to.deep.equal(["pull-b"]);
    expect(names(planned(pulls, undefined))).to.deep.equal(["pull-a", "pull-b"]);
    expect(names(planned(pulls, ["x"], { prePulls: false }))).to.deep.equal(["pull-a", "pull-b"]);
  });

  it("knows the nodes that have the image, and not by what another rollout did", () => {
    const pulled = { state: "pulled" } as const;
    const pulls = [
      ...[pull("a", pulled), pull("b"), pull("c", { ...pulled, image: oldImage })],
      pull("d", { ...pulled, rollout: "other" }),
    ];
    expect(nodesWithImage(rolloutOf(), pulls)).to.deep.equal(new Set(["a"]));
  });
});
