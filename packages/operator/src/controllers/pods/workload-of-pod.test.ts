import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { workloadOfPod } from "./workload-of-pod.js";

describe("workloadOfPod", () => {
  const pod = (kind: string, name: string, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
    metadata: {
      ...{ namespace: "shop", name: "pod", labels },
      ownerReferences: [{ apiVersion: "apps/v1", kind, name, uid: "u", controller: true }],
    },
  });
  const keyOfWorkload = (of: KubeObject): string | undefined => workloadOfPod(of)?.key;

  it("is the Deployment of any of its ReplicaSets", () => {
    for (const hash of ["7d9f", "5c4b"]) {
      const of = pod("ReplicaSet", `web-${hash}`, { "pod-template-hash": hash });
      expect(keyOfWorkload(of)).to.equal("shop/Deployment/web");
      expect(workloadOfPod(of)?.owner.name).to.equal(`web-${hash}`);
    }
  });

  it("is the controller of all others, and none for a Pod of its own", () => {
    expect(keyOfWorkload(pod("StatefulSet", "db"))).to.equal("shop/StatefulSet/db");
    expect(keyOfWorkload(pod("ReplicaSet", "bare"))).to.equal("shop/ReplicaSet/bare");
    expect(keyOfWorkload(pod("ReplicaSet", "bare-1", { "pod-template-hash": "2" }))).to.equal(
      "shop/ReplicaSet/bare-1",
    );
    expect(keyOfWorkload(pod("StatefulSet", "db-1", { "pod-template-hash": "1" }))).to.equal(
      "shop/StatefulSet/db-1",
    );
    expect(workloadOfPod({ metadata: { name: "alone" } })).to.equal(undefined);
  });

  it("is none where the Pod names an owner by more than any object is called", () => {
    expect(keyOfWorkload(pod("StatefulSet", "d".repeat(253)))).to.not.equal(undefined);
    for (const [kind, name] of [
      ["StatefulSet", "d".repeat(2_000)],
      ["S".repeat(2_000), "db"],
    ] as const)
      expect(workloadOfPod(pod(kind, name))).to.equal(undefined);
  });
});
