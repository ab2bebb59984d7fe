import { expect } from "chai";
import type { AgentRollout } from "../../api/agent-rollout.js";
import { newImage, podOf, rolloutOf } from "../../upgrade/fleet.fixture.js";
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
    refused: [],
    pulls: { create: [], remove: [], troubled: [], dueMs: Infinity },
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
      ...["Accepted True", "Completed False", "Halted False", "UpgradeRefused False"],
    ]);
    expect(conditions.map(({ observedGeneration }) => observedGeneration)).to.deep.equal([5, 5, 5, 5]);
    const refused = statusFor({ phase: "Refused", rollout: rolloutOf({ refused: "spec.image is none" }) });
    expect(refused.conditions?.[0]).to.deep.include({ status: "False", message: "spec.image is none." });
    expect(statusFor({ phase: "Halted", progress: halted }).conditions?.[2]).to.deep.include({
      status: "True",
    });
  });

  it("names Pods that an API server refuses to change, with its words and what follows", () => {
    const refused = ["a", "b"].map((name) => podOf(name, {}, { refusal: "denied by a policy." }));
    const said = (of: RolloutVerdict["refused"], failureThreshold: number) =>
      statusFor({ refused: of, rollout: rolloutOf({ failureThreshold }) }).conditions?.[3];
    expect(said(refused.slice(0, 1), 2)).to.deep.include({
      ...{ type: "UpgradeRefused", status: "True", reason: "ChangesRefused" },
      message:
        "An API server refuses to change shop/a: denied by a policy. It is asked again every half a minute. Others are not kept waiting for that.",
    });
    expect(said(refused, 2)?.message)
      .to.contain("2 Pods, the first of them shop/a")
      .and.contain("as many as spec.failureThreshold");
  });

  it("names nodes that can't pull the image, and has no such condition where none is to pull it first", () => {
    const rollout = rolloutOf({ prePulls: true });
    const of = (changes: Partial<RolloutVerdict>) => {
      const [found] = (statusFor({ rollout, ...changes }).conditions ?? []).slice(4);
      return `${found?.type} ${found?.status} ${found?.reason} ${found?.message}`;
    };
    expect(of({})).to.contain("ImagePulled True Pulled");
    expect(of({ waiting: new Map([["Image", 2]]) })).to.contain("ImagePulled False Pulling");
    const pull = { name: "p", rollout: "r", image: newImage, createdMs: 0, state: "pulling" } as const;
    const troubled = ["n1", "n2"].map((node) => ({ ...pull, node, trouble: "ErrImagePull: not found." }));
    expect(of({ pulls: { create: [], remove: [], troubled, dueMs: 0 } })).to.equal(
      "ImagePulled False CannotPull The image is not there, or can't be run, on 2 nodes, the first of them n1: ErrImagePull: not found. Sidecars there keep theirs until it can.",
    );
    const before = statusFor({ rollout });
    const after = rolloutStatusOf(verdict, object, before, 1_700_000_200_000);
    expect(after.conditions).to.have.lengthOf(4);
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
