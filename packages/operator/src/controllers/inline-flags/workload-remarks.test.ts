import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { workloadRemarks } from "./workload-remarks.js";

const workload = (annotations: object): KubeObject => ({
  metadata: { name: "checkout" },
  spec: { template: { metadata: { annotations } } },
});
const stored = { kind: "stored", flags: 3 } as const;

describe("workloadRemarks", () => {
  it("say what Pods read, in the order in which later ones win", () => {
    const named = {
      "openfeature.dev/featureflagsource": "shop, team/base",
      "openfeature.dev/featureflag": "team/a,inline-deployment-checkout",
    };
    expect(workloadRemarks("Deployment", workload(named), stored)).to.equal(
      "inline, 3 flags in FeatureFlag inline-deployment-checkout; read after sources shop, team/base and flags team/a",
    );
    const alone = { "openfeature.dev/featureflag": "inline-deployment-checkout" };
    expect(workloadRemarks("Deployment", workload(alone), stored)).to.equal(
      "inline, 3 flags in FeatureFlag inline-deployment-checkout",
    );
  });

  it("say so if the Pods do not read it", () => {
    expect(workloadRemarks("Job", { metadata: { name: "checkout" } }, stored)).to.match(
      /its Pods do not read it: openfeature\.dev\/featureflag of the Pod template lacks the name$/,
    );
  });

  it("say why nothing is stored", () => {
    const refused = { kind: "refused", problem: "line 1, column 2: no" } as const;
    expect(workloadRemarks("CronJob", workload({}), refused)).to.equal(
      "refused, and the last flags stay: line 1, column 2: no",
    );
    expect(workloadRemarks("CronJob", workload({}), { kind: "nameTaken" })).to.contain(
      "inline-cronjob-checkout",
    );
  });
});
