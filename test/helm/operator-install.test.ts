import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import type { ApiObject } from "../cluster/support/api-client.js";
import { applyType } from "../cluster/support/apply-type.js";
import { featureFlagPath } from "../cluster/support/cluster.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { packageCharts } from "../../scripts/release/package-charts.js";
import { TempDirectory } from "../support/temp-directory.js";
import { helm, operatorChartFolder } from "./support/chart.js";
import { operatorChart } from "./support/operator-chart.js";
import { documentedBlocks, runAsPrinted } from "./support/readme.js";
import { skipWithout } from "./support/tool.js";

const namespace = "open-feature-operator-system";
const namespacePath = `/api/v1/namespaces/${namespace}`;
/** As the open-feature-operator's documentation installs it: the release is in the namespace `default`, and the chart makes that of its objects. */
const release = ["openfeature", "default"] as const;
const binding =
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/open-feature-operator-flagd-kubernetes-sync";
const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/open-feature-operator-controller-manager`;
const policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";

const mutating =
  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/open-feature-operator-mutating-webhook-configuration";

interface Webhooks {
  readonly webhooks: readonly {
    readonly name: string;
    readonly clientConfig: { readonly service: { readonly path?: string } };
  }[];
}

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
    const { code, stderr } = await helm([...args, "--namespace", release[1]], {
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
    const values = { namespace: { labels: { team: "flags" }, annotations: { "example.org/cost": "7" } } };
    await run(["install", release[0], stock], values);
    await cluster().untilServed();
    // Its webhook refuses all FeatureFlags where it does not run.
    const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    await cluster().api.delete(`${webhooks}/open-feature-operator-validating-webhook-configuration`);
    await cluster().createNamespace("shop");
    await cluster().putFeatureFlag("shop", "checkout", { flags: {} });
    const flag = await cluster().api.get(featureFlagPath("shop", "checkout"));
    const before = await cluster().api.get(deployment);
    const { metadata: home } = await cluster().api.get(namespacePath);
    const { subjects } = (await cluster().api.get(binding)) as Bound;
    const workload = { kind: "ServiceAccount", name: "checkout", namespace: "shop" };
    await cluster().api.patch(binding, { subjects: [...subjects, workload] });

    const takeover = parse(
      readFileSync(path.join(operatorChartFolder, "values-takeover.yaml"), "utf8"),
    ) as object;
    const packages = path.join(directory?.path ?? "", "packages");
    mkdirSync(packages);
    await packageCharts(packages);
    const ours = readdirSync(packages).find((file) => /^bunting-operator-\d.*\.tgz$/.test(file)) ?? "";
    await run(["upgrade", release[0], path.join(packages, ours)], takeover);
    expect(await imageNow()).to.contain("bunting-operator");
    // Helm deletes what the older chart had and this one has not, and with a namespace all that is in it.
    const { metadata: kept } = await cluster().api.get(namespacePath);
    expect(kept).to.include({ uid: home.uid }).and.not.have.property("deletionTimestamp");
    expect(kept["labels"]).to.deep.equal(home["labels"]);
    expect(kept["annotations"]).to.deep.include({
      "helm.sh/resource-policy": "keep",
      "example.org/cost": "7",
    });
    expect((await cluster().api.get(deployment)).metadata.uid).to.equal(before.metadata.uid);
    expect((await cluster().api.get(featureFlagPath("shop", "checkout"))).metadata.uid).to.equal(
      flag.metadata.uid,
    );
    expect(((await cluster().api.get(binding)) as Bound).subjects).to.deep.include(workload);
    expect(await exists(`${policies}/inject.bunting.dev`)).to.equal(true);
    // Pods of the older operator answer at no other, until ours are there.
    const { webhooks: kinds } = (await cluster().api.get(mutating)) as unknown as Webhooks;
    const called = kinds.find(({ name }) => name === "mutate.openfeature.dev");
    expect(called?.clientConfig.service.path).to.equal("/mutate-v1-pod");

    // The subjects that were added are others' changes to what the older chart applies: its operator adds them again when it starts.
    await run(["rollback", release[0], "1", "--force-conflicts"]);
    expect(await imageNow()).to.contain("open-feature-operator");
    expect((await cluster().api.get(deployment)).metadata.uid).to.equal(before.metadata.uid);
    expect((await cluster().api.get(featureFlagPath("shop", "checkout"))).metadata.uid).to.equal(
      flag.metadata.uid,
    );
    expect(await exists(`${policies}/inject.bunting.dev`)).to.equal(false);
    const { metadata: left } = await cluster().api.get(namespacePath);
    expect(left).to.include({ uid: home.uid }).and.not.have.property("deletionTimestamp");
  });
});

/** docs/operate/migrate.md, "Without Helm". */
describe("the operator in place of an open-feature-operator that was applied by kubectl", function () {
  this.timeout(120_000);
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  const cluster = freshCluster({ crds: false });
  const exists = async (path: string): Promise<boolean> =>
    (await cluster().api.request("GET", path)).status === 200;
  let directory: TempDirectory | undefined;
  after(() => directory?.remove());

  it("has its Deployment without anything of that, and all FeatureFlags", async function () {
    directory = new TempDirectory();
    const chart = await operatorChart(path.join(directory.path, "stock"));
    if (chart === undefined) return this.skip();
    for (const kind of ["Certificate", "Issuer"]) {
      const file = path.join(directory.path, `${kind}.json`);
      writeFileSync(file, JSON.stringify(typeOf(kind)));
      await applyType(cluster(), file);
    }
    // What its release publishes for kubectl is made of the same templates.
    const { stdout } = await helm(["template", "open-feature-operator", chart, "--namespace", namespace]);
    await cluster().createNamespace(namespace);
    await cluster().kubectl(["apply", "-f", "-"], stdout);
    await cluster().untilServed();
    const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    await cluster().api.delete(`${webhooks}/open-feature-operator-validating-webhook-configuration`);
    await cluster().createNamespace("shop");
    await cluster().putFeatureFlag("shop", "checkout", { flags: {} });
    const flag = await cluster().api.get(featureFlagPath("shop", "checkout"));
    const before = await cluster().api.get(deployment);
    const { subjects } = (await cluster().api.get(binding)) as Bound;
    const workload = { kind: "ServiceAccount", name: "checkout", namespace: "shop" };
    await cluster().api.patch(binding, { subjects: [...subjects, workload] });

    const home = directory.path;
    const file = path.join(home, "stock.yaml");
    writeFileSync(file, stdout);
    const [there = "", back = ""] = documentedBlocks("docs/operate/migrate.md", "Without Helm", "sh").map(
      (lines) =>
        lines.replaceAll("rendered.yaml", path.join(home, "rendered.yaml")).replaceAll("stock.yaml", file),
    );
    const follow = (lines: string): Promise<string> =>
      runAsPrinted(lines.replace("helm template", "helm template --set policies.injection=always"), {
        kubeconfig: cluster().kubeconfig,
        home,
      });
    await follow(there);
    const after = (await cluster().api.get(deployment)) as unknown as {
      readonly metadata: { readonly uid: string };
      readonly spec: {
        readonly template: {
          readonly spec: { readonly volumes?: unknown; readonly containers: readonly object[] };
        };
      };
    };
    expect(after.metadata.uid).to.equal(before.metadata.uid);
    const { containers, ...pod } = after.spec.template.spec;
    expect(pod).to.not.have.property("volumes");
    expect(containers).to.have.length(1);
    expect(containers[0]).to.not.have.any.keys("command", "volumeMounts");
    expect(containers[0]).to.include({ image: "registry.example/bunting-operator:0.1.0" });
    expect((await cluster().api.get(featureFlagPath("shop", "checkout"))).metadata.uid).to.equal(
      flag.metadata.uid,
    );
    expect(((await cluster().api.get(binding)) as Bound).subjects).to.deep.include(workload);
    const mutating = await cluster().api.get(
      webhooks.replace("validating", "mutating") + "/open-feature-operator-mutating-webhook-configuration",
    );
    const { annotations = {} } = mutating.metadata as { readonly annotations?: object };
    expect(annotations, "cert-manager would fill in another authority").to.not.have.any.keys(
      "cert-manager.io/inject-ca-from",
    );
    expect(await exists(`${policies}/inject.bunting.dev`)).to.equal(true);

    await follow(back);
    const again = await cluster().api.get(deployment);
    expect(again.metadata.uid).to.equal(before.metadata.uid);
    expect(again["spec"]).to.deep.equal(before["spec"]);
    expect((await cluster().api.get(featureFlagPath("shop", "checkout"))).metadata.uid).to.equal(
      flag.metadata.uid,
    );
    expect(await exists(`${policies}/inject.bunting.dev`)).to.equal(false);
  });
});
