import { expect } from "chai";
import { rolloutSettings, type RolloutSettings } from "./rollout-settings.js";

function ofImage(image: string): RolloutSettings {
  return rolloutSettings({
    ...{ image, from: ["*"], maxUnavailable: "25%", maxInFlight: 10, perNode: 1 },
    ...{ minAge: "60s", observe: "30s", deadline: "120s" },
    ...{ failureThreshold: 3, rollbackOnHalt: true, paused: false },
  });
}

describe("the settings of an AgentRollout", () => {
  it("are refused with an image that is none, also where an older resource type has stored it, in a sentence", () => {
    expect(ofImage("registry.example/agent:2").refused).to.equal(undefined);
    for (const image of ["", "agent", "Agent:1", "agent:1\n", "agent:1/2", "agent@sha256:12", "--help"])
      expect(ofImage(image).refused, JSON.stringify(image)).to.contain("is no image with a tag or a digest");
    expect(ofImage(`${"x".repeat(5_000)}:1`).refused?.length).to.be.below(1_000);
  });
});
