import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { goModuleSource } from "../../scripts/go-module-source.js";
import { openFeatureOperator } from "../../scripts/upstream-suite.js";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { applyType } from "./support/apply-type.js";
import type { ServiceAccount } from "./support/service-account.js";
import { freshCluster } from "./support/use-cluster.js";

const root = path.resolve(import.meta.dirname, "../..");
const recorded = path.join(root, "test/fixtures/stock-operator");
const system = "open-feature-operator-system";
const manager = `/apis/apps/v1/namespaces/${system}/deployments/open-feature-operator-controller-manager`;
const proxyDeployment = `/apis/apps/v1/namespaces/${system}/deployments/flagd-proxy`;
const webhookName = "open-feature-operator-mutating-webhook-configuration";
const webhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const ourImage = "registry.example/bunting-proxy:0.1.0";

interface Report {
  readonly operatedBy?: string;
  readonly checks: readonly {
    readonly group: string;
    readonly result: string;
    readonly findings: readonly { readonly code: string; readonly where: string; readonly todo: string }[];
  }[];
}

interface Checked extends Report {
  readonly code: number | null;
  readonly findings: readonly string[];
}

async function check(kubeconfig: string, ...args: readonly string[]): Promise<Checked> {
  const { code, out, err } = await runBunting(["check", "--json", "--kubeconfig", kubeconfig, ...args]);
  expect(err).to.equal("");
  const report = JSON.parse(out) as Report;
  const findings = report.checks.flatMap((one) =>
    one.findings.map((found) => `${found.code} ${found.where}`),
  );
  return { ...report, code, findings };
}

function addressesOf(proxy: ProxyProcess): readonly string[] {
  return ["--proxy", new URL(proxy.management).host, "--sync", `127.0.0.1:${portOf(proxy)}`];
}

function groupsOf({ checks }: Report): readonly string[] {
  return checks.map(({ group, result }) => `${group} ${result}`);
}

/** The types are those of its module; its Deployments, webhook and Pods are as it makes them. */
describe("bunting check beside the open-feature-operator alone", function () {
  this.timeout(180_000);
  const cluster = freshCluster({ crds: false });
  let account: ServiceAccount;
  let proxy: ProxyProcess | undefined;
  let shop: string;

  before(async function () {
    const source = goModuleSource(...openFeatureOperator);
    if (source === undefined) return this.skip();
    const types = path.join(source, "config/crd/bases");
    for (const file of readdirSync(types)) await applyType(cluster(), path.join(types, file));
    await cluster().createNamespace(system);
    account = await cluster().createServiceAccountToken(system, "open-feature-operator-flagd-proxy");
    await cluster().grantStockRole(account);
    await installOperator();
    proxy = await startProxyInPod(account);
    shop = await cluster().createNamespace();
    await cluster().putFeatureFlag(shop, "flags", { flags: {} });
    await putSource("checkout", { source: "flags", provider: "flagd-proxy" });
    await putPod("web", true);
  });
  after(() => proxy?.process.stop("SIGKILL"));

  async function installOperator(): Promise<void> {
    const env = [
      { name: "FLAGD_PROXY_IMAGE", value: ourImage.replace(/:0.*$/, "") },
      { name: "FLAGD_PROXY_TAG", value: "0.1.0" },
    ];
    const { api, certificateAuthority } = cluster();
    await api.create(path.dirname(manager), {
      metadata: { name: path.basename(manager) },
      spec: {
        selector: { matchLabels: { app: "stock" } },
        template: {
          metadata: { labels: { app: "stock" } },
          spec: {
            containers: [
              { name: "manager", image: "ghcr.io/open-feature/open-feature-operator:v0.9.2", env },
            ],
          },
        },
      },
    });
    await api.patch(`${manager}/status`, { status: { replicas: 1, readyReplicas: 1 } });
    const text = readFileSync(path.join(recorded, "proxy-deployment.json"), "utf8");
    const { labels, spec } = JSON.parse(
      text.replace(/ghcr\.io\/open-feature\/flagd-proxy:[^"]+/, ourImage),
    ) as {
      labels: object;
      spec: object;
    };
    await api.create(path.dirname(proxyDeployment), { metadata: { name: "flagd-proxy", labels }, spec });
    const service = {
      namespace: system,
      name: "open-feature-operator-webhook-service",
      path: "/mutate-v1-pod",
    };
    await api.create(webhooks, {
      metadata: { name: webhookName },
      webhooks: [
        {
          name: "mutate.openfeature.dev",
          admissionReviewVersions: ["v1"],
          sideEffects: "NoneOnDryRun",
          failurePolicy: "Ignore",
          clientConfig: { service, caBundle: certificateAuthority.toString("base64") },
          rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        },
      ],
    });
  }

  function putSource(name: string, source: object): Promise<unknown> {
    return cluster().api.apply(
      `/apis/core.openfeature.dev/v1beta1/namespaces/${shop}/featureflagsources/${name}`,
      {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlagSource",
        metadata: { name, namespace: shop },
        spec: { sources: [source] },
      },
    );
  }

  /** As recorded, with its sidecar or without. */
  function putPod(name: string, hasSidecar: boolean): Promise<unknown> {
    const { annotations, initContainers, containers } = JSON.parse(
      readFileSync(path.join(recorded, "workload-pod.json"), "utf8"),
    ) as { annotations: object; initContainers: object[]; containers: object[] };
    return cluster().api.create(`/api/v1/namespaces/${shop}/pods`, {
      metadata: { name, annotations },
      spec: { containers, ...(hasSidecar ? { initContainers } : {}) },
    });
  }

  const here = (...args: readonly string[]): Promise<Checked> =>
    check(cluster().kubeconfig, "--namespace", system, ...args);
  const running = (): ProxyProcess => proxy ?? expect.fail("the proxy runs");

  it("finds nothing where all is well, and asks for nothing of our operator", async () => {
    const checked = await here(...addressesOf(running()));
    expect(checked.findings).to.deep.equal([]);
    expect(checked.operatedBy).to.equal("stock");
    expect(groupsOf(checked)).to.deep.equal([
      "cluster ok",
      "definitions ok",
      "rights ok",
      "admission ok",
      "operator ok",
      "operator ok",
      "proxy ok",
      "proxy ok",
      "sources ok",
      "pods ok",
      "pods ok",
      "topics ok",
    ]);
    expect(checked.code).to.equal(0);
    const { out } = await runBunting(["check", "--kubeconfig", cluster().kubeconfig, "--only", "admission"]);
    expect(out).to.contain("\n1 check of an installation with the open-feature-operator: all is well\n");
  });

  it("sends whoever checks the usual namespace to that of the operator", async () => {
    const { checks } = await check(cluster().kubeconfig, "--only", "proxy");
    const [missing] = checks.flatMap(({ findings }) => findings);
    expect(missing).to.include({ code: "proxy-missing" });
    expect(missing?.todo).to.equal(`check the namespace of the operator: bunting check -n ${system}`);
  });

  it("finds each fault that is there, and no other, in words of that operator", async () => {
    const { api } = cluster();
    await putSource("gone", { source: "nowhere", provider: "flagd-proxy" });
    await putPod("lost", false);
    await putPod("waiting", true);
    const waiting = { waiting: { reason: "ErrImagePull" } };
    const flagd = {
      name: "flagd",
      image: "flagd",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: waiting,
    };
    await api.patch(`/api/v1/namespaces/${shop}/pods/waiting/status`, {
      status: { initContainerStatuses: [flagd] },
    });
    await api.patch(`${manager}/status`, { status: { readyReplicas: 0 } });
    const containers = [{ name: "flagd-proxy", image: "ghcr.io/open-feature/flagd-proxy:v0.9.4" }];
    await cluster().kubectl([
      ...["patch", "deployment", "flagd-proxy", "--namespace", system],
      ...["--patch", JSON.stringify({ spec: { template: { spec: { containers } } } })],
    ]);
    await cluster().kubectl([
      ...["patch", "mutatingwebhookconfiguration", webhookName, "--type=json"],
      ...["--patch", JSON.stringify([{ op: "remove", path: "/webhooks/0/clientConfig/caBundle" }])],
    ]);
    await cluster().kubectl(["apply", "-f", path.join(root, "deploy/policies/inject.yaml")]);
    await cluster().deleteStockRole(account);
    let checked: Checked | undefined;
    // The authorizer of the API server goes by the role that was until it has seen that it is gone.
    await eventually(async () => {
      checked = await here("--only", "rights");
      return checked.findings.length > 0;
    }, "the right is missed");
    checked = await here(...addressesOf(running()));
    const withoutTopics = checked.findings.filter((found) => !found.startsWith("topic-stale"));
    expect(withoutTopics).to.deep.equal([
      `right-missing ServiceAccount ${system}/open-feature-operator-flagd-proxy`,
      "policy-left MutatingAdmissionPolicy inject.bunting.dev",
      `webhook-authority MutatingWebhookConfiguration ${webhookName}`,
      `operator-unready Deployment ${system}/open-feature-operator-controller-manager`,
      `proxy-image Deployment ${system}/flagd-proxy`,
      `flag-missing FeatureFlagSource ${shop}/gone`,
      `pod-not-injected Pod ${shop}/lost`,
      `sidecar-not-running Pod ${shop}/waiting`,
    ]);
    expect(checked.code).to.equal(1);
    const remedies = checked.checks.flatMap(({ findings }) => findings.map(({ todo }) => todo)).join("\n");
    expect(remedies).to.not.match(/bunting-operator|operator-permissions|operator explain/);
  });
});

describe("bunting check of a proxy without an operator", function () {
  this.timeout(120_000);
  const cluster = freshCluster({ crds: false });
  let proxy: ProxyProcess;

  before(async () => {
    await applyType(cluster(), path.join(root, "deploy/crds/featureflags.yaml"));
    const namespace = await cluster().createNamespace("bunting-system");
    const account = await cluster().createServiceAccountToken(namespace, "bunting-proxy");
    await cluster().grantStockRole(account);
    proxy = await startProxyInPod(account);
    await cluster().putFeatureFlag(await cluster().createNamespace(), "flags", { flags: {} });
  });
  after(() => proxy.process.stop("SIGKILL"));

  it("finds nothing where it serves, and says that there is no operator to check", async () => {
    const { kubeconfig } = cluster();
    const checked = await check(kubeconfig, ...addressesOf(proxy));
    expect(checked.findings).to.deep.equal([]);
    expect(checked.operatedBy).to.equal("nobody");
    expect([...new Set(checked.checks.map(({ group }) => group))]).to.deep.equal([
      "definitions",
      "proxy",
      "sources",
      "pods",
      "topics",
    ]);
    const args = ["check", "--kubeconfig", kubeconfig, "--only", "operator", ...addressesOf(proxy)];
    const { code, err } = await runBunting(args);
    expect(code).to.equal(2);
    expect(err).to.contain(
      "there is nothing to check of the group operator: a proxy runs here without an operator",
    );
  });

  it("misses our operator once a Pod asks for flags", async () => {
    const annotations = { "openfeature.dev/enabled": "true" };
    await cluster().api.create("/api/v1/namespaces/bunting-system/pods", {
      metadata: { name: "web", annotations },
      spec: { containers: [{ name: "app", image: "registry.example/app" }] },
    });
    const { findings, code } = await check(cluster().kubeconfig, ...addressesOf(proxy));
    expect(findings).to.include.members([
      "definition-missing CustomResourceDefinition featureflagsources.core.openfeature.dev",
      "operator-missing cluster",
      "admission-missing cluster",
      "pod-not-injected Pod bunting-system/web",
    ]);
    expect(code).to.equal(1);
  });
});
