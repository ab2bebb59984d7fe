import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { Authority } from "../support/certificates.js";
import { freePort } from "../support/free-port.js";
import { eventually } from "../support/event-queue.js";
import { runBunting } from "../support/cli-process.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { OperatorProcess } from "./support/operator-process.js";
import { freshCluster } from "./support/use-cluster.js";

const root = path.resolve(import.meta.dirname, "../..");
const system = "bunting-system";
const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const core = "/apis/core.openfeature.dev/v1beta1/namespaces";
const deployments = `/apis/apps/v1/namespaces/${system}/deployments`;
const webhook =
  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/open-feature-operator-mutating-webhook-configuration";

interface Finding {
  readonly code: string;
  readonly where: string;
  readonly what: string;
}

interface Checked {
  readonly code: number | null;
  readonly findings: readonly string[];
  readonly checks: readonly {
    readonly group: string;
    readonly result: string;
    readonly findings: readonly Finding[];
  }[];
}

async function check(kubeconfig: string, ...args: readonly string[]): Promise<Checked> {
  const { code, out, err } = await runBunting(["check", "--json", "--kubeconfig", kubeconfig, ...args]);
  expect(err).to.equal("");
  const { checks, format } = JSON.parse(out) as Checked & { readonly format: number };
  expect(format).to.equal(1);
  const findings = checks.flatMap((one) => one.findings.map(({ code: found, where }) => `${found} ${where}`));
  return { code, findings, checks };
}

/** A Deployment of the open-feature-operator. */
const stockOperator = {
  metadata: { name: "open-feature-operator-controller-manager" },
  spec: {
    selector: { matchLabels: { app: "stock" } },
    template: {
      metadata: { labels: { app: "stock" } },
      spec: { containers: [{ name: "manager", image: "ghcr.io/open-feature/open-feature-operator:v0.9.4" }] },
    },
  },
};

describe("bunting check --pre on a real API server", function () {
  this.timeout(120_000);
  const cluster = freshCluster({ crds: false });

  it("finds nothing where an installation may be made", async () => {
    const { code, findings, checks } = await check(cluster().kubeconfig, "--pre");
    expect(findings).to.deep.equal([]);
    expect(checks.map(({ group, result }) => `${group} ${result}`)).to.deep.equal([
      "cluster ok",
      "definitions ok",
      "rights ok",
      "admission ok",
      "operator ok",
    ]);
    expect(code).to.equal(0);
    const { out } = await runBunting([
      "check",
      "--pre",
      "--kubeconfig",
      cluster().kubeconfig,
      "--only",
      "rights",
    ]);
    expect(out).to.equal(
      "rights\n  ok       you may make what the chart makes, and grant what it grants\n\n1 check: all is well\n",
    );
  });

  it("finds what stands in the way, each once", async () => {
    const { api } = cluster();
    await cluster().kubectl(["apply", "-k", path.join(root, "deploy/crds")]);
    await cluster().untilServed();
    const definition = `${crds}/featureflags.core.openfeature.dev`;
    const annotations = { "controller-gen.kubebuilder.io/version": "v0.16.5" };
    await api.patch(definition, { metadata: { annotations } });
    const stored = `${crds}/featureflagsources.core.openfeature.dev`;
    await api.patch(`${stored}/status`, { status: { storedVersions: ["v1alpha1", "v1beta1"] } });
    await cluster().kubectl(["create", "namespace", system]);
    await api.create(deployments, stockOperator);
    const { code, findings } = await check(cluster().kubeconfig, "--pre");
    expect(findings).to.deep.equal([
      "definition-stock CustomResourceDefinition featureflags.core.openfeature.dev",
      "definition-stored CustomResourceDefinition featureflagsources.core.openfeature.dev",
      `other-operator Deployment ${system}/open-feature-operator-controller-manager`,
    ]);
    expect(code).to.equal(1);
  });

  it("names the rights that a user lacks, and says what it could not check", async () => {
    const namespace = await cluster().createNamespace();
    const account = await cluster().createServiceAccountToken(namespace, "nobody");
    const kubeconfig = `${cluster().kubeconfig}.nobody`;
    const admin = readFileSync(cluster().kubeconfig, "utf8");
    writeFileSync(
      kubeconfig,
      admin.replace(/"token":"[^"]+"/, () => `"token":"${account.token}"`),
    );
    const { code, checks } = await check(kubeconfig, "--pre");
    expect(code).to.equal(1);
    const of = (group: string): Checked["checks"][number] | undefined =>
      checks.find((one) => one.group === group);
    expect(of("definitions")?.findings.map(({ code: found }) => found)).to.deep.equal(["not-checked"]);
    expect(of("operator")?.result).to.equal("unknown");
    expect(of("cluster")?.result).to.equal("ok");
    const rights = of("rights")?.findings ?? [];
    expect(rights.every(({ code: found }) => found === "right-missing")).to.equal(true);
    const lines = rights.map(({ where, what }) => `${where}: ${what}`);
    expect(lines).to.include(
      `you in ${system}: get, create, patch of deployments.apps is not allowed (the chart makes them)`,
    );
    // What it would grant, it must hold.
    expect(lines.join("\n")).to.contain(
      "of injections.bunting.dev is not allowed (the operator needs it, and nobody",
    );
    const installed = await check(kubeconfig);
    expect(installed.code).to.equal(2);
    const wrong = installed.checks.filter(({ group, result }) => group !== "cluster" && result !== "unknown");
    expect(wrong).to.deep.equal([]);
  });

  it("exits with 2 where there is no API server", async () => {
    const kubeconfig = `${cluster().kubeconfig}.away`;
    const admin = readFileSync(cluster().kubeconfig, "utf8");
    writeFileSync(kubeconfig, admin.replace(cluster().url, `https://127.0.0.1:${await freePort()}`));
    const { code, findings } = await check(kubeconfig);
    expect(findings).to.deep.equal(["api-unreachable API server"]);
    expect(code).to.equal(2);
    const words = await runBunting(["check", "--pre", "--only", "topics", "--kubeconfig", kubeconfig]);
    expect(words.err).to.contain("--pre has no checks of the group topics");
    expect(words.code).to.equal(2);
  });
});

describe("bunting check of an installation on a real API server", function () {
  this.timeout(180_000);
  const cluster = freshCluster();
  let operator: OperatorProcess;
  let proxy: ProxyProcess;
  let shop: string;

  before(async () => {
    await cluster().kubectl(["apply", "-k", path.join(root, "deploy/kustomize/operator")]);
    const ready = { replicas: 2, readyReplicas: 2 };
    await cluster().api.patch(`${deployments}/bunting-operator/status`, { status: ready });
    const account = await cluster().createServiceAccountToken(system, "bunting-operator");
    operator = OperatorProcess.start({
      account,
      pod: "bunting-operator-1",
      args: [
        "--flag-reader-role=bunting-operator-flagd-proxy",
        "--proxy-service-account=bunting-operator-flagd-proxy",
        "--webhook-service=bunting-operator",
      ],
    });
    await operator.leads(60_000);
    proxy = await startProxyInPod(
      await cluster().createServiceAccountToken(system, "bunting-operator-flagd-proxy"),
    );
    shop = await cluster().createNamespace();
    await cluster().putFeatureFlag(shop, "flags", { flags: {} });
    await putSource("checkout", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
    await untilInjected("web");
    await eventually(async () => {
      const { webhooks } = (await cluster().api.get(webhook)) as unknown as {
        readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
      };
      return webhooks.every(({ clientConfig }) => (clientConfig.caBundle ?? "") !== "");
    }, "the operator tells the API server of its authority");
  });
  after(async () => {
    await operator.stop("SIGKILL");
    await proxy.process.stop("SIGKILL");
  });

  const addresses = (): string[] => [
    "--proxy",
    new URL(proxy.management).host,
    "--sync",
    `127.0.0.1:${portOf(proxy)}`,
  ];
  const asking = (source: string): Record<string, string> => ({
    "openfeature.dev/enabled": "true",
    "openfeature.dev/featureflagsource": source,
  });

  function putSource(name: string, spec: object): Promise<unknown> {
    return cluster().api.apply(`${core}/${shop}/featureflagsources/${name}`, {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name, namespace: shop },
      spec,
    });
  }

  async function putPod(name: string, annotations: Record<string, string>): Promise<string> {
    const containers = [{ name: "app", image: "registry.example/app" }];
    const pod = { metadata: { name, annotations }, spec: { containers } };
    const { text } = await cluster().api.request("POST", `/api/v1/namespaces/${shop}/pods`, { body: pod });
    return text;
  }

  /** A Pod into which the API server has put a sidecar by the policy. */
  async function untilInjected(name: string): Promise<void> {
    await eventually(async () => {
      const created = await putPod(name, asking("checkout"));
      if (created.includes('"name":"flagd"')) return true;
      await cluster().api.request("DELETE", `/api/v1/namespaces/${shop}/pods/${name}?gracePeriodSeconds=0`);
      return false;
    }, "a Pod is injected");
  }

  it("finds nothing where all is well", async () => {
    const { code, findings, checks } = await check(cluster().kubeconfig, ...addresses());
    expect(findings).to.deep.equal([]);
    expect(checks.map(({ group, result }) => `${group} ${result}`)).to.deep.equal([
      "cluster ok",
      "definitions ok",
      "rights ok",
      "admission ok",
      "operator ok",
      "operator ok",
      "proxy ok",
      "proxy ok",
      "security ok",
      "security ok",
      "security ok",
      "sources ok",
      "pods ok",
      "pods ok",
      "topics ok",
    ]);
    expect(code).to.equal(0);
  });

  it("finds why a proxy can't be reached, or is another service", async () => {
    const port = await freePort();
    const of = async (...args: readonly string[]): Promise<readonly string[]> =>
      (await check(cluster().kubeconfig, "--only", "proxy", ...args)).findings;
    const [, management = "", , sync = ""] = addresses();
    const nowhere = `127.0.0.1:${port}`;
    expect(await of("--proxy", nowhere, "--sync", sync)).to.deep.equal([
      `proxy-unreachable proxy ${nowhere}`,
    ]);
    expect(await of("--proxy", management, "--sync", nowhere)).to.deep.equal([
      `proxy-refuses proxy ${management}`,
    ]);
    expect(await of("--proxy", management, "--sync", management)).to.deep.equal([
      `proxy-refuses proxy ${management}`,
    ]);
    expect(await of("--proxy", management, "--sync", sync, "--tls")).to.deep.equal([
      `proxy-tls proxy ${management}`,
    ]);
    // No Pod of a proxy runs here.
    expect(await of()).to.deep.equal([
      `proxy-missing namespace ${system}`,
      `proxy-absent namespace ${system}`,
    ]);
  });

  it("finds each fault that is there, and no other", async () => {
    const { api } = cluster();
    // While the operator judges.
    const sources = [{ source: "flags", provider: "flagd-proxy" }];
    await putSource("gone", { sources: [{ source: "nowhere", provider: "flagd-proxy" }] });
    await putSource("nobody", { sources, defaultSyncProvider: "nobody" });
    await putSource("refused", { sources, socketPath: "/tmp/flagd.sock" });
    const manifest = {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name: "mistyped", namespace: shop },
      spec: { sources, mangementPort: 1 },
    };
    const file = path.join(cluster().directory, "mistyped.json");
    writeFileSync(file, JSON.stringify(manifest));
    await cluster().kubectl(["apply", "--validate=false", "-f", file]);
    // The policies of the API server itself refuse a wrong default variant, and can't read rules.
    const rule = { if: [{ starts_wiht: [{ var: "email" }, "a"] }, "on"] };
    const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on", targeting: rule };
    await cluster().putFeatureFlag(shop, "bad", { flags: { flag } });
    const judged = async (kind: string, name: string): Promise<boolean> =>
      JSON.stringify((await api.get(`${core}/${shop}/${kind}s/${name}`))["status"] ?? {}).includes('"False"');
    await eventually(() => judged("featureflagsource", "refused"), "the operator refuses the source");
    await eventually(() => judged("featureflag", "bad"), "the operator refuses the FeatureFlag");
    await untilInjected("waiting");
    await operator.stop("SIGKILL");

    const waiting = [
      { name: "flagd", ready: false, restartCount: 0, state: { waiting: { reason: "ErrImagePull" } } },
    ];
    await api.patch(`/api/v1/namespaces/${shop}/pods/waiting/status`, {
      status: { initContainerStatuses: waiting },
    });
    await putPod("lost", asking("unheard-of"));
    await cluster().kubectl([
      "patch",
      "pod",
      "web",
      "--namespace",
      shop,
      "--type=json",
      "--patch",
      JSON.stringify([
        {
          op: "replace",
          path: "/spec/initContainers/0/image",
          value: "registry.example/bunting-agent:0.0.1",
        },
      ]),
    ]);

    await api.patch(`${deployments}/bunting-operator/status`, { status: { readyReplicas: 0 } });
    await api.create(deployments, stockOperator);
    const bindings = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings";
    await api.delete(`${bindings}/inject.bunting.dev`);
    await cluster().kubectl([
      "patch",
      "mutatingwebhookconfiguration",
      "open-feature-operator-mutating-webhook-configuration",
      "--type=json",
      "--patch",
      JSON.stringify([{ op: "remove", path: "/webhooks/0/clientConfig/caBundle" }]),
    ]);
    await api.delete(`${crds}/flagds.core.openfeature.dev`);
    const field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/selector";
    await cluster().kubectl([
      "patch",
      "crd",
      "inprocessconfigurations.core.openfeature.dev",
      "--type=json",
      "--patch",
      JSON.stringify([{ op: "remove", path: field }]),
    ]);
    const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/bunting-operator";
    const { rules } = (await api.get(role)) as unknown as {
      readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
    };
    const fewer = rules.map((rule) =>
      rule.resources[0] === "events" ? { ...rule, verbs: ["create"] } : rule,
    );
    await api.patch(role, { rules: fewer });

    const planted = [
      "definition-older CustomResourceDefinition inprocessconfigurations.core.openfeature.dev",
      "definition-missing CustomResourceDefinition flagds.core.openfeature.dev",
      `right-missing ServiceAccount ${system}/bunting-operator`,
      "policy-unbound MutatingAdmissionPolicy inject.bunting.dev",
      "webhook-authority MutatingWebhookConfiguration open-feature-operator-mutating-webhook-configuration",
      `two-operators Deployment ${system}/open-feature-operator-controller-manager`,
      `operator-unready Deployment ${system}/bunting-operator`,
      "version-skew sidecar registry.example/bunting-agent:0.0.1",
      `flag-missing FeatureFlagSource ${shop}/gone`,
      `field-unknown FeatureFlagSource ${shop}/mistyped`,
      `provider-unknown FeatureFlagSource ${shop}/nobody`,
      `source-refused FeatureFlagSource ${shop}/refused`,
      `pod-not-injected Pod ${shop}/lost`,
      `sidecar-not-running Pod ${shop}/waiting`,
      `topic-refused FeatureFlag ${shop}/bad`,
    ];
    let checked: Checked | undefined;
    // The authorizer of the API server goes by the role that was until it has seen the new one.
    await eventually(async () => {
      checked = await check(cluster().kubeconfig, ...addresses());
      return checked.findings.some((finding) => finding.startsWith("right-missing"));
    }, "the right is missed");
    expect(checked?.findings).to.deep.equal(planted);
    expect(checked?.code).to.equal(1);
    const { out } = await runBunting(["check", "--kubeconfig", cluster().kubeconfig, "--only", "pods"]);
    expect(out).to.match(
      new RegExp(`^pods\\n {2}failed {3}Pods that ask for flags .*\\n {11}Pod ${shop}/lost: `),
    );
    expect(out).to.match(
      /\n {13}To do: Create the FeatureFlagSource .*See docs\/reference\/checks\.md#pod-not-injected\n/,
    );
  });

  it("finds what is amiss with the proxy's security, and what it waits for", async () => {
    const { api } = cluster();
    const ofSystem = `/api/v1/namespaces/${system}`;
    await cluster().kubectl([
      ...["set", "env", "deployment/bunting-operator", "--namespace", system, "BUNTING_PROXY_SECURITY=on"],
    ]);
    const securityWith = (state: string, waitsFor = ""): Promise<unknown> =>
      api.apply(`${ofSystem}/configmaps/bunting-proxy-security`, {
        ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "bunting-proxy-security" } },
        data: { state, waitsFor, since: "2026-01-01T00:00:00Z" },
      });
    const found = async (): Promise<Checked> => check(cluster().kubeconfig, "--only", "security");

    await securityWith("mixed", "1 Pods ask the proxy without a token");
    const waiting = await found();
    expect(waiting.findings).to.include(`security-waits ConfigMap ${system}/bunting-proxy-security`);
    expect(waiting.checks[0]?.findings.map(({ what }) => what).join()).to.contain("1 Pods ask the proxy");

    await securityWith("on");
    const authority = await Authority.create();
    const ended = await authority.issue({ validToMs: Date.now() - 3_600_000 });
    const encoded = (text: string): string => Buffer.from(text).toString("base64");
    await api.create(`${ofSystem}/secrets`, {
      metadata: { name: "flagd-proxy-tls" },
      data: { "tls.crt": encoded(ended.cert), "tls.key": encoded(ended.key) },
    });
    const uri = `flagd-proxy-svc.${system}.svc.cluster.local:8015`;
    await api.create(`/api/v1/namespaces/${shop}/pods`, {
      metadata: { name: "secured", annotations: { "openfeature.dev/enabled": "true" } },
      spec: {
        containers: [
          {
            name: "flagd",
            image: "registry.example/agent",
            args: ["start", "--uri", uri],
            env: [{ name: "BUNTING_CA_FILE", value: "/var/run/secrets/bunting/ca.crt" }],
          },
        ],
      },
    });
    const { findings, code } = await found();
    expect(findings).to.include.members([
      `proxy-security Deployment ${system}/flagd-proxy`,
      `certificate-ended Secret ${system}/flagd-proxy-tls`,
      `pod-refused Pod ${shop}/web`,
      `authority-missing ConfigMap ${shop}/bunting-ca`,
    ]);
    expect(code).to.equal(1);

    await api.create(`/api/v1/namespaces/${shop}/configmaps`, {
      metadata: { name: "bunting-ca" },
      data: { "ca.crt": authority.cert },
    });
    const after = (await found()).findings;
    expect(after.filter((finding) => finding.startsWith("authority-missing"))).to.deep.equal([]);
    // It lasts for as long as tests need it.
    expect(after).to.include(`certificate-ends ConfigMap ${shop}/bunting-ca`);
  });
});
