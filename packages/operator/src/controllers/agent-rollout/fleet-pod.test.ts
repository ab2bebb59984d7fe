import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { storedPod } from "./fleet-pod.js";

const wants = { "openfeature.dev/enabled": "true" };
const sidecar = { name: "flagd", image: "registry.example/agent:1" };

function pod(metadata: object, spec: object = {}, status: object = {}): KubeObject {
  return {
    metadata: { name: "a", namespace: "shop", uid: "u", resourceVersion: "7", ...metadata },
    spec: { containers: [{ name: "app", image: "app:1" }], initContainers: [sidecar], ...spec },
    status,
  };
}

const agentOf = (of: KubeObject) => storedPod(of).fleet.agent;

describe("storedPod", () => {
  it("knows the sidecar that was injected by us or by the open-feature-operator, wherever it is", () => {
    const ours = { labels: { "bunting.dev/agent": "1" } };
    expect(agentOf(pod(ours))).to.deep.include({ list: "initContainers", index: 0, image: sidecar.image });
    const containers = [{ name: "app", image: "app:1" }, sidecar];
    expect(agentOf(pod({ annotations: wants }, { initContainers: [], containers }))).to.deep.include({
      ...{ list: "containers", index: 1 },
    });
  });

  it("leaves alone what somebody has written there, and keeps next to nothing of it", () => {
    expect(agentOf(pod({}))).to.equal(undefined);
    expect(agentOf(pod({ annotations: { ...wants, "bunting.dev/not-injected": "SidecarByHand" } }))).to.equal(
      undefined,
    );
    expect(
      agentOf(pod({ annotations: wants }, { initContainers: [{ ...sidecar, name: "other" }] })),
    ).to.equal(undefined);
    const { fleet, ...rest } = storedPod(
      pod({ labels: { app: "x" }, annotations: { large: "x".repeat(9_000) } }),
    );
    expect(fleet.labels).to.deep.equal({});
    expect(JSON.stringify({ fleet, rest }).length).to.be.below(500);
  });

  it("does not keep labels and images that nobody could mean", () => {
    const labels = Object.fromEntries(
      Array.from({ length: 600 }, (_, index) => [`label-${index}`, "x".repeat(60)]),
    );
    expect(agentOf(pod({ labels: { ...labels, "bunting.dev/agent": "1" } }))).to.equal(undefined);
    const spec = { initContainers: [{ ...sidecar, image: "x".repeat(100_000) }] };
    expect(agentOf(pod({ annotations: wants }, spec))).to.equal(undefined);
  });

  it("reads how the sidecar runs, and what a rollout has written", () => {
    const record = {
      rollout: "r",
      image: "i",
      state: "updated",
      at: "2026-01-01T00:00:00.000Z",
      begun: "2026-01-01T00:00:00.000Z",
      since: "2026-01-01T00:00:00.000Z",
      imageID: "x",
      restarts: 1,
    };
    const annotations = {
      ...wants,
      "bunting.dev/agent-rollout": JSON.stringify(record),
      "bunting.dev/agent-previous": "registry.example/agent:0",
    };
    const [app, flagd] = [
      { name: "app", imageID: "other" },
      { name: "flagd", imageID: "id", ready: true },
    ];
    const statuses = [app, { ...flagd, started: true, restartCount: 2, state: { running: {} } }];
    const { fleet } = storedPod(
      pod(
        { annotations },
        { nodeName: "n" },
        {
          ...{ phase: "Running", initContainerStatuses: statuses },
          podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
          conditions: [{ type: "Ready", status: "True" }],
        },
      ),
    );
    expect(fleet.addresses).to.deep.equal(["10.0.0.1", "fd00::1"]);
    expect(fleet).to.deep.include({ node: "n", phase: "Running", isReady: true, isEnding: false });
    expect(fleet.agent).to.deep.include({ imageID: "id", isStarted: true, isReady: true, restarts: 2 });
    expect(fleet.agent?.record?.state).to.equal("updated");
    expect(fleet.agent?.previous).to.equal("registry.example/agent:0");
    const waiting = { name: "flagd", state: { waiting: { reason: "ErrImagePull" } } };
    const unready = agentOf(pod({ annotations: wants }, {}, { initContainerStatuses: [waiting] }));
    expect(unready).to.deep.include({
      isStarted: false,
      isReady: false,
      imageID: "",
      trouble: "ErrImagePull",
    });
  });

  it("counts Pods of a Deployment as one workload, and a Pod without an owner as its own", () => {
    const of = (metadata: object): string => storedPod(pod(metadata)).fleet.workload;
    const owner = (name: string) => ({
      labels: { "pod-template-hash": name.slice(4) },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: name, controller: true }],
    });
    expect(of(owner("web-1"))).to.equal(of(owner("web-2")));
    expect(of({})).to.not.equal(of({ name: "b" }));
  });
});
