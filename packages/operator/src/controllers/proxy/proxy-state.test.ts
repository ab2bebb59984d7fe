import { expect } from "chai";
import { proxyReadyCondition, proxyStateOf } from "./proxy-state.js";

const rollout = { image: "p:1", annotations: {} };
const live = (status: object) => ({
  metadata: { generation: 1 },
  status: { observedGeneration: 1, ...status },
});
const stalled = {
  conditions: [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }],
};

describe("the state of the proxy", () => {
  for (const [what, status, kind] of [
    ["a Pod is available", { availableReplicas: 1 }, "available"],
    [
      "a Pod is available, though another is awaited in vain",
      { availableReplicas: 1, ...stalled },
      "available",
    ],
    ["none is available yet", { availableReplicas: 0 }, "deploying"],
    ["none became available in time", stalled, "degraded"],
  ] as const) {
    it(`is ${kind} if ${what}`, () => {
      expect(proxyStateOf(live(status), rollout)).to.include({ kind });
    });
  }

  it("is degraded if it is scaled to none, and says who may have done it", () => {
    const state = proxyStateOf({ ...live({}), spec: { replicas: 0 } }, rollout);
    expect(state).to.include({ kind: "degraded" });
    expect(proxyReadyCondition(state).message).to.contain("--proxy-replica-count");
  });

  it("is degraded while another image runs than the one that is asked for", () => {
    const state = proxyStateOf(live({ availableReplicas: 2 }), { ...rollout, refusedImage: "p:2" });
    expect(state).to.include({ kind: "degraded" });
    expect(proxyReadyCondition(state).message)
      .to.contain("the image p:2")
      .and.contain("p:1 runs in its place");
  });
});

describe("the condition ProxyReady", () => {
  it("is true only if the proxy is available", () => {
    const states = [
      { kind: "absent" },
      { kind: "deploying" },
      { kind: "available" },
      { kind: "degraded", message: "it hangs" },
      { kind: "nameTaken", message: "it is another's" },
      { kind: "failed", message: "it was refused" },
    ] as const;
    const conditions = states.map(proxyReadyCondition);
    expect(conditions.map(({ reason, status }) => `${reason} ${status}`)).to.deep.equal([
      "NotDeployed False",
      "Progressing False",
      "Available True",
      "Degraded False",
      "NameTaken False",
      "ApplyFailed False",
    ]);
    expect(conditions.map(({ message }) => message).slice(3)).to.deep.equal([
      "it hangs",
      "it is another's",
      "it was refused",
    ]);
  });
});
