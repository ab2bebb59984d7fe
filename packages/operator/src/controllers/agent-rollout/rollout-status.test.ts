import { expect } from "chai";
import type { AgentRollout } from "../../api/agent-rollout.js";
import { newImage, rolloutOf } from "../../upgrade/fleet.fixture.js";
import type { RolloutVerdict } from "../../upgrade/plan.js";
import { rolloutMessage, progressOf, rolloutStatusOf } from "./rollout-status.js";

describe("the status of an AgentRollout", () => {
  const progress = { image: newImage, sinceMs: 1_700_000_000_123, failures: [] };
  const verdict: RolloutVerdict = {
    ...{
      rollout: rolloutOf(),
      phase: "Progressing",
      desired: 9,
      updated: 4,
      ready: 3,
      inFlight: 2,
      toRevert: 0,
    },
    waiting: new Map([["Wave", 3]]),
    progress,
  };
  const object = { metadata: { name: "a", generation: 5 } } as unknown as AgentRollout;
  const statusFor = (changes: Partial<RolloutVerdict>) =>
    rolloutStatusOf({ ...verdict, ...changes }, object, {}, 1_700_000_100_000);
  const failure = { pod: "shop/a", uid: "u", atMs: 1_700_000_050_456, message: "It broke." };
  const halted = { ...progress, halted: "It broke.", failures: [failure] };

  it("is read as it was written", () => {
    expect(progressOf(statusFor({}))).to.deep.equal(progress);
    expect(progressOf(statusFor({ progress: halted }))).to.deep.equal(halted);
    expect(progressOf({})).to.equal(undefined);
    expect(progressOf({ image: newImage, since: "once" })).to.equal(undefined);
  });

  it("has conditions of the generation that it is about", () => {
    const conditions = statusFor({}).conditions ?? [];
    expect(conditions.map(({ type, status }) => `${type} ${status}`)).to.deep.equal([
      ...["Accepted True", "Completed False", "Halted False"],
    ]);
    expect(conditions.map(({ observedGeneration }) => observedGeneration)).to.deep.equal([5, 5, 5]);
    const refused = statusFor({ phase: "Refused", rollout: rolloutOf({ refused: "spec.image is none" }) });
    expect(refused.conditions?.[0]).to.deep.include({ status: "False", message: "spec.image is none." });
    expect(statusFor({ phase: "Halted", progress: halted }).conditions?.[2]).to.deep.include({
      status: "True",
    });
  });

  it("says in a sentence what it waits for, and how to go on", () => {
    expect(rolloutMessage(verdict)).to.equal(
      "4 of 9 Pods have the image, and 2 are under way. Others wait: 3 because those before them are not proven yet.",
    );
    const after = { ...verdict, progress: halted, phase: "Halted" } as const;
    expect(rolloutMessage({ ...after, toRevert: 4 }))
      .to.contain("4 that were updated get their image")
      .and.contain("spec.paused");
    expect(rolloutMessage(after)).to.contain("All that were updated have");
    expect(rolloutMessage({ ...after, rollout: rolloutOf({ rollsBack: false }) })).to.contain(
      "keep the image",
    );
    expect(rolloutMessage({ ...verdict, phase: "Completed", desired: 0 })).to.equal(
      "There is no Pod that it is for.",
    );
    expect(rolloutMessage({ ...verdict, phase: "Paused" })).to.contain("spec.paused is true");
  });
});
