import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { imagePull } from "../../desired/image-pull.js";
import { fleetPull } from "./fleet-pull.js";

describe("fleetPull", () => {
  const image = "registry.example/agent:2";
  const rollout = { name: "agents", uid: "4f5e" };
  const pulled = { rollout, node: "node-1", image, pullSecrets: [], choosesUser: true };
  const made = imagePull({ namespace: "bunting", ...pulled });
  const pod = (status: object): KubeObject => ({
    ...made,
    metadata: {
      ...made.metadata,
      name: "pull",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    status,
  });
  const container = (state: object): object => ({ phase: "Pending", containerStatuses: [{ state }] });
  const stateOf = (status: object): readonly unknown[] => {
    const { state, trouble } = fleetPull(pod(status)) ?? {};
    return [state, trouble];
  };

  it("reads for whom which node pulls what", () => {
    expect(fleetPull(pod({}))).to.deep.equal({
      ...{ name: "pull", rollout: "4f5e", node: "node-1", image, state: "pulling" },
      createdMs: Date.parse("2026-01-01T00:00:00Z"),
    });
    const deleted = { ...pod({}).metadata, deletionTimestamp: "2026-01-01T00:00:09Z" };
    expect(fleetPull({ ...pod({}), metadata: deleted })).to.equal(undefined);
    expect(fleetPull({ metadata: { name: "a" }, spec: { containers: [{ image }] } })).to.equal(undefined);
  });

  it("takes a container that runs, or ended well, as the sign that its image is there and can be run", () => {
    expect(stateOf(container({ running: {} }))).to.deep.equal(["pulled", undefined]);
    expect(stateOf({ ...container({ terminated: { exitCode: 0 } }), phase: "Succeeded" })).to.deep.equal([
      ...["pulled", undefined],
    ]);
    const terminated = { exitCode: 128, reason: "StartError", message: "exec format error" };
    expect(stateOf({ ...container({ terminated }), phase: "Failed" })).to.deep.equal([
      ...["failed", "its help ended with exit code 128: StartError: exec format error"],
    ]);
  });

  it("says in the kubelet's words why it is not", () => {
    const waiting = { reason: "ErrImagePull", message: "not\nfound" };
    expect(stateOf(container({ waiting }))).to.deep.equal(["pulling", "ErrImagePull: not found"]);
    expect(stateOf(container({ waiting: { reason: "ContainerCreating" } }))).to.deep.equal([
      ...["pulling", undefined],
    ]);
    expect(stateOf({ phase: "Failed", reason: "OutOfpods" })).to.deep.equal(["failed", "OutOfpods"]);
    const [, long] = stateOf({ phase: "Failed", reason: "x".repeat(9_000) });
    expect(long).to.have.lengthOf(300);
  });
});
