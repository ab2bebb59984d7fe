import type { Condition } from "@bunting/kube";
import { expect } from "chai";
import { sourceConditions } from "./source-conditions.js";

const digest = "d1";
const now = { generation: 7, nowMs: Date.parse("2026-01-02T03:04:05.678Z") };
const problem = { reason: "NotShared", message: "the FeatureFlag a/b is not shared" } as const;
const briefly = (conditions: readonly Condition[]): unknown =>
  conditions.map(({ type, status, reason, message }) => [type, status, reason, message]);

describe("sourceConditions", () => {
  it("say of an object that all of it is served, what Pods get, of which version, and since when", () => {
    const conditions = sourceConditions([], { digest, problems: [] }, now);
    expect(briefly(conditions)).to.deep.equal([
      ["Accepted", "True", "Accepted", "Everything in it is served as it is written."],
      ["Compiled", "True", "Compiled", "Pods that name it get the entry d1."],
    ]);
    for (const condition of conditions)
      expect(condition).to.include({ observedGeneration: 7, lastTransitionTime: "2026-01-02T03:04:05Z" });
  });

  it("are the same array if there is no news, so that nothing is written", () => {
    const before = sourceConditions([], { digest, problems: [problem] }, now);
    const later = { ...now, nowMs: now.nowMs + 60_000 };
    expect(sourceConditions(before, { digest, problems: [problem] }, later)).to.equal(before);
    expect(
      sourceConditions(before, { digest, problems: [problem] }, { ...later, generation: 8 }),
    ).to.not.equal(before);
  });

  it("say all that is not served, with the reason of the first", () => {
    const other = { reason: "InvalidSetting", message: "logFormat: xml is left out" } as const;
    expect(briefly(sourceConditions([], { digest, problems: [problem, other] }, now))).to.deep.equal([
      ["Accepted", "False", "NotShared", "The FeatureFlag a/b is not shared; logFormat: xml is left out."],
      ["Compiled", "True", "Compiled", "Pods that name it get the entry d1."],
    ]);
  });

  it("say why Pods get nothing by the last problem, for which it was refused", () => {
    const last = { reason: "NoSources", message: "no source is left" } as const;
    const [, compiled] = sourceConditions([], { digest: undefined, problems: [problem, last] }, now);
    expect(compiled).to.include({ status: "False", reason: "NoSources", message: "No source is left." });
  });

  it("keep conditions of others, and no message without end", () => {
    const other: Condition = {
      type: "Other",
      status: "True",
      reason: "Available",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const long = { ...problem, message: "x".repeat(5_000) };
    const conditions = sourceConditions(
      [other],
      { digest, problems: [long] },
      { ...now, generation: undefined },
    );
    expect(conditions[0]).to.equal(other);
    expect(conditions[1]?.message).to.have.length(1_024).and.to.match(/…$/);
    expect(conditions[1]).to.not.have.property("observedGeneration");
  });
});
