import type { Condition } from "@bunting/kube";
import { expect } from "chai";
import { flagdConditions } from "./flagd-conditions.js";
import type { FlagdOutcome, FlagdProblem } from "./flagd-outcome.js";

const about = { generation: 4, nowMs: Date.parse("2026-11-26T10:00:00Z") };
const complete = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
const stalled = {
  observedGeneration: 2,
  conditions: [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }],
};

const refused = {
  ...stalled,
  conditions: [
    ...stalled.conditions,
    { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota: q" },
  ],
};

function applied(status: object, problems: readonly FlagdProblem[] = []): FlagdOutcome {
  const deployment = { metadata: { generation: 2 }, spec: { replicas: 1 }, status };
  return { kind: "applied", deployment, problems };
}

function shown(conditions: readonly Condition[]): readonly string[] {
  return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

describe("the conditions of a Flagd", () => {
  for (const [what, status, expected] of [
    ["all Pods are available", complete, ["Available True Available", "Progressing True Complete"]],
    ["there are none yet", {}, ["Available False NoReplicas", "Progressing True Deploying"]],
    ["none becomes available", stalled, ["Available False NoReplicas", "Progressing False Stalled"]],
    ["new Pods are refused", refused, ["Available False NoReplicas", "Progressing False PodsRefused"]],
    [
      "an old Pod still serves",
      { ...stalled, availableReplicas: 1 },
      ["Available True Available", "Progressing False Stalled"],
    ],
  ] as const) {
    it(`say that ${what}`, () => {
      const conditions = flagdConditions([], applied(status), about);
      expect(shown(conditions)).to.deep.equal(expected);
      expect(conditions.map(({ observedGeneration }) => observedGeneration)).to.deep.equal([4, 4]);
    });
  }

  it("name what is not served, with all its sentences", () => {
    const problems = [
      { reason: "RoutesNotServed", message: "there is no HTTPRoute" },
      { reason: "NotShared", message: "another is left out" },
    ];
    const condition = flagdConditions([], applied(complete, problems), about).find(
      ({ type }) => type === "Progressing",
    );
    expect(condition).to.include({
      ...{ status: "True", reason: "RoutesNotServed" },
      message: "There is no HTTPRoute; another is left out.",
    });
  });

  it("say what was refused, and leave what was available before", () => {
    const before = flagdConditions([], applied(complete), about);
    const problem = { reason: "NotFound", message: "there is no FeatureFlagSource shop/end-to-end" };
    const now = flagdConditions(
      before,
      { kind: "refused", problem },
      { ...about, nowMs: about.nowMs + 5_000 },
    );
    expect(shown(now)).to.deep.equal(["Available True Available", "Progressing False NotFound"]);
    expect(now[1]).to.include({
      message: "There is no FeatureFlagSource shop/end-to-end.",
      lastTransitionTime: "2026-11-26T10:00:05Z",
    });
  });

  it("say that this operator serves none and how it would, and nothing about Pods at which nobody looks any more", () => {
    const before = flagdConditions([], applied(complete), about);
    const unserved = flagdConditions(before, { kind: "unserved" }, about);
    expect(shown(unserved)).to.deep.equal(["Progressing False NotServed"]);
    expect(unserved[0]?.message).to.contain("--flagd").and.to.contain("options.flagd");
    expect(flagdConditions(unserved, { kind: "unserved" }, { ...about, nowMs: 0 })).to.equal(unserved);
    expect(shown(flagdConditions(unserved, applied(complete), about))).to.have.members([
      "Available True Available",
      "Progressing True Complete",
    ]);
  });

  it("are cut where a message is too long", () => {
    const problem = { reason: "ApplyFailed", message: "x".repeat(5_000) };
    const [condition] = flagdConditions([], { kind: "refused", problem }, about);
    expect(condition?.message)
      .to.have.lengthOf(1_024)
      .and.satisfy((text: string) => text.endsWith("…"));
  });

  it("are the same array if nothing has changed", () => {
    const before = flagdConditions([], applied(complete), about);
    expect(flagdConditions(before, applied(complete), { ...about, nowMs: 0 })).to.equal(before);
  });
});
