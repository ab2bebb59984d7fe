import { expect } from "chai";
import { hasStalled, isRolledOut, podRefusal, proxyRollout, type LiveDeployment } from "./proxy-rollout.js";

const complete = { observedGeneration: 3, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
const stalled = {
  observedGeneration: 3,
  replicas: 3,
  updatedReplicas: 1,
  availableReplicas: 2,
  conditions: [
    { type: "Available", status: "True", reason: "MinimumReplicasAvailable" },
    { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" },
  ],
};
const quota = "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3";
const refusedPods = {
  ...stalled,
  conditions: [
    ...stalled.conditions,
    {
      ...{ type: "ReplicaFailure", status: "True", reason: "FailedCreate" },
      message: `pods "flagd-proxy-6d8f-x2x5z" is forbidden: ${quota}`,
    },
  ],
};
const available = (image: string) => ({ "bunting.dev/available-image": image });
const refused = (image: string) => ({ "bunting.dev/refused-image": image });

function deployment(image: string, status: LiveDeployment["status"], annotations = {}): LiveDeployment {
  const containers = [
    { name: "mesh", image: "mesh:1" },
    { name: "flagd-proxy", image },
  ];
  return {
    metadata: { generation: 3, annotations },
    spec: { replicas: 2, template: { spec: { containers } } },
    ...(status === undefined ? {} : { status }),
  };
}

describe("proxyRollout", () => {
  for (const [what, live, expected] of [
    ["begins with the image that is asked for", undefined, { image: "p:2", annotations: {} }],
    [
      "remembers an image that is available, also the open-feature-operator's",
      deployment("stock:1", complete),
      { image: "p:2", annotations: available("stock:1") },
    ],
    [
      "keeps what it remembers while the new one is on its way",
      deployment("p:2", { ...complete, updatedReplicas: 1 }, available("p:1")),
      { image: "p:2", annotations: available("p:1") },
    ],
    [
      "remembers the new one once it is available",
      deployment("p:2", complete, available("p:1")),
      { image: "p:2", annotations: available("p:2") },
    ],
    [
      "goes back when the new one has stalled",
      deployment("p:2", stalled, available("p:1")),
      { image: "p:1", annotations: { ...available("p:1"), ...refused("p:2") }, refusedImage: "p:2" },
    ],
    [
      "stays with the old one after that",
      deployment("p:1", complete, { ...available("p:1"), ...refused("p:2") }),
      { image: "p:1", annotations: { ...available("p:1"), ...refused("p:2") }, refusedImage: "p:2" },
    ],
    [
      "tries again once its annotation is removed",
      deployment("p:1", complete, available("p:1")),
      { image: "p:2", annotations: available("p:1") },
    ],
    [
      "tries another image than the one that was refused",
      deployment("p:1", complete, { ...available("p:1"), ...refused("p:1.9") }),
      { image: "p:2", annotations: available("p:1") },
    ],
    [
      "refuses no image because a quota refuses its Pods",
      deployment("p:2", refusedPods, available("p:1")),
      { image: "p:2", annotations: available("p:1") },
    ],
    [
      "does not remember an image that others wrote",
      deployment("rival:1", complete, available("p:2")),
      { image: "p:2", annotations: available("p:2") },
    ],
    [
      "puts back what runs in the place of a refused image, whatever others wrote",
      deployment("rival:1", complete, { ...available("p:1"), ...refused("p:2") }),
      { image: "p:1", annotations: { ...available("p:1"), ...refused("p:2") }, refusedImage: "p:2" },
    ],
    ["has nothing to go back to at first", deployment("p:2", stalled), { image: "p:2", annotations: {} }],
    [
      "does not go back from an image to itself",
      deployment("p:2", stalled, available("p:2")),
      { image: "p:2", annotations: available("p:2") },
    ],
    [
      "judges no image by a status of another version",
      deployment("p:2", { ...stalled, observedGeneration: 2 }, available("p:1")),
      { image: "p:2", annotations: available("p:1") },
    ],
    [
      "refuses no image because another one has stalled",
      deployment("p:1.5", stalled, available("p:1")),
      { image: "p:2", annotations: available("p:1") },
    ],
  ] as const) {
    it(what, () => {
      expect(proxyRollout("p:2", live)).to.deep.equal(expected);
    });
  }
});

describe("podRefusal", () => {
  it("says why Pods are refused, in the same words for each of them, and nothing of an earlier version", () => {
    expect(podRefusal(deployment("p:2", refusedPods))).to.equal(quota);
    expect(podRefusal(deployment("p:2", { ...refusedPods, observedGeneration: 2 }))).to.equal(undefined);
    expect(podRefusal(deployment("p:2", stalled))).to.equal(undefined);
  });
});

describe("isRolledOut", () => {
  for (const [what, status, expected] of [
    ["all replicas are new and available", complete, true],
    ["the status is of an older version", { ...complete, observedGeneration: 2 }, false],
    ["an old Pod is still there", { ...complete, replicas: 3 }, false],
    ["one is not new", { ...complete, updatedReplicas: 1 }, false],
    ["one is not available", { ...complete, availableReplicas: 1 }, false],
    ["there is no status yet", undefined, false],
  ] as const) {
    it(`is ${expected} if ${what}`, () => {
      expect(isRolledOut(deployment("p", status))).to.equal(expected);
    });
  }

  it("is false for no replicas, which prove nothing", () => {
    const none = { observedGeneration: 3, replicas: 0, updatedReplicas: 0, availableReplicas: 0 };
    const { metadata, spec } = deployment("p", none);
    expect(isRolledOut({ metadata, spec: { ...spec, replicas: 0 }, status: none })).to.equal(false);
  });
});

describe("hasStalled", () => {
  it("is true only for a rollout of this version for which the API server no longer waits", () => {
    const progressing = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
    const otherwise = [
      { ...progressing, status: "True" },
      { ...progressing, reason: "ReplicaSetUpdated" },
      { ...progressing, type: "Available" },
    ];
    expect(hasStalled(deployment("p", stalled))).to.equal(true);
    for (const condition of otherwise)
      expect(hasStalled(deployment("p", { ...stalled, conditions: [condition] }))).to.equal(false);
    expect(hasStalled(deployment("p", { ...stalled, observedGeneration: 2 }))).to.equal(false);
    expect(hasStalled(deployment("p", undefined))).to.equal(false);
  });
});
