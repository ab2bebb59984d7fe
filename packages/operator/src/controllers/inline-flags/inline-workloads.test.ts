import { expect } from "chai";
import type { ClusterWatches, InformerOptions, KubeObject } from "@bunting/kube";
import { watchInlineWorkloads } from "./inline-workloads.js";

describe("FeatureFlags that are made of a workload's flags", () => {
  /** What a FeatureFlag of this name and owner has the operator look at, and keep. */
  function seen(name: string, kind: string, ownerName: string): { keys: string[]; kept: object } {
    const keys: string[] = [];
    const options: InformerOptions<KubeObject, never>[] = [];
    const watches = {
      inform: (_scope: object, each: InformerOptions<KubeObject, never>) => options.push(each),
    };
    watchInlineWorkloads(watches as unknown as Pick<ClusterWatches, "inform">, (key) => keys.push(key));
    const owner = { apiVersion: "apps/v1", kind, name: ownerName, uid: "u", controller: true };
    const flag = { metadata: { namespace: "shop", name, ownerReferences: [owner] } };
    const { transform, handler } = options.at(-1) ?? {};
    const kept = transform?.(flag) ?? flag;
    handler?.changed(`shop/${name}`, kept, undefined);
    return { keys, kept };
  }

  it("have it looked at", () => {
    expect(seen("inline-deployment-web", "Deployment", "web").keys).to.deep.equal(["shop/Deployment/web"]);
  });

  it("have the workload of their own name looked at, and take no memory, whatever owner they claim to have", () => {
    for (const [kind, owner] of [
      ["Deployment", ".."],
      ["Deployment", "web/scale"],
      ["Deployment", "x".repeat(700_000)],
      ["Pod", "web"],
      ["toString", "web"],
    ] as const) {
      const { keys, kept } = seen("inline-deployment-web", kind, owner);
      expect(keys).to.deep.equal(["shop/Deployment/web"]);
      expect(JSON.stringify(kept)).to.have.length.below(200);
    }
  });

  it("have nothing looked at where their name is none that is made", () => {
    for (const name of ["web", "inline-pod-web", "inline-deployment-", "inline-toString-web"])
      expect(seen(name, "Deployment", "web").keys, name).to.deep.equal([]);
  });
});
