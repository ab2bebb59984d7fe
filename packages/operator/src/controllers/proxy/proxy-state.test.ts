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

const refused = {
  conditions: [
    { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota: q" },
  ],
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
    ["new Pods are refused", { availableReplicas: 0, ...refused }, "degraded"],
    [
      "those of before are all there is",
      { availableReplicas: 2, updatedReplicas: 0, ...refused },
      "degraded",
    ],
    ["another Pod is refused", { availableReplicas: 2, updatedReplicas: 2, ...refused }, "available"],
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

  it("says why Pods are refused, and what becomes of that", () => {
    const ofNone = proxyReadyCondition(proxyStateOf(live(refused), rollout));
    expect(ofNone.message).to.contain("exceeded quota: q").and.contain("start all the same");
    const ofSome = proxyReadyCondition(proxyStateOf(live({ ...refused, availableReplicas: 2 }), rollout));
    expect(ofSome.message).to.contain("exceeded quota: q").and.contain("those of before run on");
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

  it("has no longer message than one that is known again, however much a policy has to say", () => {
    const { message } = proxyReadyCondition({ kind: "failed", message: "m".repeat(5_000) });
    expect(message).to.have.length(1_024);
  });
});
