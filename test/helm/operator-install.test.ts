import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import type { ApiObject } from "../cluster/support/api-client.js";
import { applyType } from "../cluster/support/apply-type.js";
import { featureFlagPath } from "../cluster/support/cluster.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { TempDirectory } from "../support/temp-directory.js";
import { helm, operatorChartFolder } from "./support/chart.js";
import { operatorChart } from "./support/operator-chart.js";
import { skipWithout } from "./support/tool.js";

const namespace = "open-feature-operator-system";
const release = "open-feature-operator";
const binding =
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/open-feature-operator-flagd-kubernetes-sync";
const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/open-feature-operator-controller-manager`;
const policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";

interface Bound extends ApiObject {
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
}

/** A type of cert-manager, with any fields. */
function typeOf(kind: string): object {
  const plural = `${kind.toLowerCase()}s`;
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: "cert-manager.io",
      scope: "Namespaced",
      names: { kind, plural },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

/** Real installations, but for Pods: this API server has no nodes. */
describe("the operator's Helm chart on a real API server", function () {
  this.timeout(120_000);
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  const cluster = freshCluster({ crds: false });
  const run = async (args: readonly string[], values?: unknown): Promise<void> => {
    const { code, stderr } = await helm([...args, "--namespace", namespace], {
      ...(values === undefined ? {} : { values }),
      kubeconfig: cluster().kubeconfig,
    });
    if (code !== 0) throw new Error(stderr);
  };
  const imageNow = async (): Promise<string> => {
    const { spec } = (await cluster().api.get(deployment)) as unknown as {
      readonly spec: {
        readonly template: { readonly spec: { readonly containers: [{ readonly image: string }] } };
      };
    };
    return spec.template.spec.containers[0].image;
  };
  const exists = async (path: string): Promise<boolean> =>
    (await cluster().api.request("GET", path)).status === 200;

  let directory: TempDirectory | undefined;
  let stock: string | undefined;
  before("the open-feature-operator's chart", async () => {
    directory = new TempDirectory();
    stock = await operatorChart(directory.path);
    await cluster().createNamespace(namespace);
  });
  after(() => directory?.remove());

  it("takes the place of the open-feature-operator's release, and gives it back, without losing a FeatureFlag", async function () {
    if (stock === undefined) return this.skip();
    // cert-manager's, which that chart needs.
    for (const kind of ["Certificate", "Issuer"]) {
      const file = path.join(directory?.path ?? "", `${kind}.json`);
      writeFileSync(file, JSON.stringify(typeOf(kind)));
      await applyType(cluster(), file);
    }
    const values = { namespace: { create: false } };
    await run(["install", release, stock], values);
    await cluster().untilServed();
    // Its webhook refuses all FeatureFlags where it does not run.
    const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    await cluster().api.delete(`${webhooks}/open-feature-operator-validating-webhook-configuration`);
    await cluster().createNamespace("shop");
    await cluster().putFeatureFlag("shop", "checkout", { flags: {} });
    const flag = await cluster().api.get(featureFlagPath("shop", "checkout"));
    const before = await cluster().api.get(deployment);
    const { subjects } = (await cluster().api.get(binding)) as Bound;
    const workload = { kind: "ServiceAccount", name: "checkout", namespace: "shop" };
    await cluster().api.patch(binding, { subjects: [...subjects, workload] });

    const takeover = parse(
      readFileSync(path.join(operatorChartFolder, "values-takeover.yaml"), "utf8"),
    ) as object;
    await run(["upgrade", release, operatorChartFolder], takeover);
    expect(await imageNow()).to.contain("bunting-operator");
    expect((await cluster().api.get(deployment)).metadata.uid).to.equal(before.metadata.uid);
    expect((await cluster().api.get(featureFlagPath("shop", "checkout"))).metadata.uid).to.equal(
      flag.metadata.uid,
    );
    expect(((await cluster().api.get(binding)) as Bound).subjects).to.deep.include(workload);
    expect(await exists(`${policies}/inject.bunting.dev`)).to.equal(true);

    // The subjects that were added are others' changes to what the older chart applies: its operator adds them again when it starts.
    await run(["rollback", release, "1", "--force-conflicts"]);
    expect(await imageNow()).to.contain("open-feature-operator");
    expect((await cluster().api.get(deployment)).metadata.uid).to.equal(before.metadata.uid);
    expect((await cluster().api.get(featureFlagPath("shop", "checkout"))).metadata.uid).to.equal(
      flag.metadata.uid,
    );
    expect(await exists(`${policies}/inject.bunting.dev`)).to.equal(false);
  });
});
