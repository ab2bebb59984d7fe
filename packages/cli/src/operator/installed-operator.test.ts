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

  it("reads of the open-feature-operator which image its proxy is to have", () => {
    const name = "open-feature-operator-controller-manager";
    const env = [
      { name: "FLAGD_PROXY_IMAGE", value: "registry.example/bunting-proxy" },
      { name: "FLAGD_PROXY_TAG", value: "0.1.0" },
    ];
    const imageOf = (given: object, labels: Record<string, string>): string | undefined =>
      installedOperator({ ...deployment(given, labels), metadata: { name, labels } })?.proxyImage;
    expect(imageOf({ env }, {})).to.equal("registry.example/bunting-proxy:0.1.0");
    expect(imageOf({ env: env.slice(1) }, {})).to.equal(undefined);
    expect(imageOf({ env }, { "app.kubernetes.io/part-of": "bunting" })).to.equal(undefined);
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
