import { expect } from "chai";
import { imagePull, type ImagePull } from "./image-pull.js";

describe("imagePull", () => {
  const pull: ImagePull = {
    namespace: "bunting",
    rollout: { name: "agents", uid: "4f5e" },
    node: "node-1",
    image: "registry.example/agent:2",
    pullSecrets: [],
    choosesUser: true,
  };
  const specOf = (changes: Partial<ImagePull> = {}): Readonly<Record<string, unknown>> =>
    imagePull({ ...pull, ...changes })["spec"] as Readonly<Record<string, unknown>>;

  it("has its own name for each rollout, node and image, and belongs to the rollout", () => {
    const { metadata } = imagePull(pull);
    expect(metadata.name).to.match(/^bunting-pull-[0-9a-f]{16}$/);
    expect(imagePull(pull).metadata.name).to.equal(metadata.name);
    const others = [{ node: "node-2" }, { image: "other:1" }, { rollout: { name: "agents", uid: "5" } }];
    const names = others.map((change) => imagePull({ ...pull, ...change }).metadata.name);
    expect(new Set([metadata.name, ...names]).size).to.equal(4);
    expect(metadata.ownerReferences).to.deep.equal([
      { apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", name: "agents", uid: "4f5e" },
    ]);
    expect(metadata.labels).to.include({ "bunting.dev/image-pull": "4f5e" });
  });

  it("runs on that node whatever its taints are, once, and with the Secrets that it is given", () => {
    expect(specOf()).to.deep.include({
      ...{ nodeName: "node-1", restartPolicy: "Never", tolerations: [{ operator: "Exists" }] },
    });
    expect(specOf()).not.to.have.property("imagePullSecrets");
    expect(specOf({ pullSecrets: ["registry"] })).to.deep.include({
      imagePullSecrets: [{ name: "registry" }],
    });
  });

  it("leaves the user to OpenShift, which refuses Pods that name one", () => {
    const { securityContext: named } = specOf();
    expect(named).to.include({ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 });
    const { securityContext: left } = specOf({ choosesUser: false });
    expect(left).to.deep.equal({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
  });
});
