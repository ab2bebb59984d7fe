import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { installedOperator } from "./installed-operator.js";

function deployment(
  manager: object,
  labels: Record<string, string> = { "app.kubernetes.io/part-of": "bunting" },
): KubeObject {
  const containers = [{ name: "side" }, { name: "manager", ...manager }];
  return {
    metadata: { namespace: "flags", name: "operator", labels },
    spec: { template: { spec: { serviceAccountName: "account", containers } } },
    status: { readyReplicas: 2 },
  };
}

describe("installedOperator", () => {
  it("reads the options that decide about rights from arguments, and else from variables", () => {
    const operator = installedOperator(
      deployment({
        image: "registry.example/operator:1",
        args: ["start", "--flagd=false", "--flagd", "--provider-kubernetes=direct", "--missed-pods", "evict"],
        env: [
          { name: "FLAGS_VALIDATION_ENABLED", value: "false" },
          { name: "BUNTING_MISSED_PODS", value: "report" },
        ],
      }),
    );
    expect(operator).to.include({ isStock: false, serviceAccount: "account", readyReplicas: 2 });
    expect(Object.fromEntries(operator?.settings ?? [])).to.include({
      flagd: "true",
      "provider-kubernetes": "direct",
      "missed-pods": "evict",
      "flags-validation": "false",
      "leader-elect": "true",
    });
  });

  it("knows the open-feature-operator by its name, and passes over all other Deployments", () => {
    const name = "open-feature-operator-controller-manager";
    const stock = deployment({}, {});
    expect(installedOperator(stock)).to.equal(undefined);
    expect(installedOperator({ ...stock, metadata: { name } })?.isStock).to.equal(true);
    // Ours after a take-over.
    expect(
      installedOperator({ ...deployment({}), metadata: { ...deployment({}).metadata, name } })?.isStock,
    ).to.equal(false);
    expect(
      installedOperator({ metadata: { name }, spec: { template: { spec: { containers: [] } } } }),
    ).to.equal(undefined);
  });
});
