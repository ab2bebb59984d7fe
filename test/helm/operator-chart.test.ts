import { expect } from "chai";
import { readFileSync } from "node:fs";
import path from "node:path";
import { carriedValues } from "@bunting/cli/internal/operator/migrate/stock-settings.js";
import { operatorOptionTable } from "@bunting/operator/internal/options.js";
import { isGranted, nameWith } from "@bunting/operator/internal/permission.js";
import { permissions } from "@bunting/operator/internal/permissions.js";
import { flagName, publicOptions, readOptions } from "@bunting/runtime";
import { parse } from "yaml";
import {
  helm,
  one,
  operatorChartFolder,
  parseManifests,
  refusal,
  render,
  root,
  type Manifest,
} from "./support/chart.js";
import { operatorChart } from "./support/operator-chart.js";
import { skipWithout } from "./support/tool.js";
import { TempDirectory } from "../support/temp-directory.js";

/** What the chart makes of these values, as release `bunting-operator` in the namespace `bunting-system`. */
const rendered = (
  values: unknown = {},
  release = "bunting-operator",
  namespace = "bunting-system",
): Promise<Manifest[]> => render(values, release, namespace, operatorChartFolder);

interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: readonly {
    readonly image: string;
    readonly args: readonly string[];
    readonly ports: readonly { readonly containerPort: number }[];
    readonly env: readonly { readonly name: string }[];
    readonly volumeMounts?: unknown;
  }[];
  readonly volumes?: unknown;
}

function podOf(manifests: readonly Manifest[]): PodSpec {
  return (one(manifests, "Deployment").spec as { template: { spec: PodSpec } }).template.spec;
}

function argsOf(manifests: readonly Manifest[]): readonly string[] {
  return podOf(manifests).containers[0]?.args ?? [];
}

/** `apiGroup/resource[/name] verb`, one of each. */
function grants(rules: unknown): string[] {
  return (
    rules as { apiGroups: string[]; resources: string[]; resourceNames?: string[]; verbs: string[] }[]
  ).flatMap(({ apiGroups, resources, resourceNames = [""], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        resourceNames.flatMap((name) => verbs.map((verb) => `${group}/${resource}/${name} ${verb}`)),
      ),
    ),
  );
}

const named = (manifests: readonly Manifest[], kind: string, name: string): Manifest =>
  one(
    manifests.filter(({ metadata }) => metadata.name === name),
    kind,
  );

/** A value of each option of the chart other than its default, as one would write it in YAML. */
const changedOptions: Readonly<Record<string, unknown>> = {
  "leader-elect": false,
  takeover: true,
  "cross-namespace": "deny",
  "provider-kubernetes": "direct",
  proxy: "never",
  "proxy-image": "registry.example/p",
  "proxy-tag": "v7",
  "proxy-replica-count": 3,
  "proxy-port": 9015,
  "proxy-management-port": 9016,
  "proxy-debug-logging": true,
  "proxy-option": "deletion-policy=empty",
  "proxy-network-policy": false,
  "redis-secret": "redis",
  "proxy-security": "mixed",
  "proxy-security-except": "shop,blog",
  "redis-secret-files": "user,password,ca.crt",
  "status-agents": false,
  "cluster-domain": "example.org",
  drift: "enforce",
  "sidecar-image": "registry.example/a",
  "sidecar-tag": "v8",
  "sidecar-port": 9013,
  "sidecar-management-port": 9014,
  "sidecar-socket-path": "/flagd/flagd.sock",
  "sidecar-evaluator": "other",
  "sidecar-provider-args": "a=1",
  "sidecar-sync-provider": "flagd-proxy",
  "sidecar-log-format": "console",
  "sidecar-env-var-prefix": "MY",
  "sidecar-probes-enabled": false,
  "sidecar-cpu-request": "30m",
  "sidecar-cpu-limit": 0.5,
  "sidecar-ram-request": "40Mi",
  "sidecar-ram-limit": "80Mi",
  "image-pull-secrets": "one,two",
  labels: "team:flags",
  annotations: "example.org/a:b",
  "host-network-pods": "inject",
  "application-env": "stock",
  "in-process-host": "flags.example",
  "in-process-port": 9017,
  "in-process-socket-path": "/sync.sock",
  "in-process-tls": true,
  "in-process-offline-flag-source-path": "/flags.json",
  "in-process-selector": "a/b",
  "in-process-cache": "disabled",
  "in-process-cache-max-size": 1_000_000,
  "in-process-env-var-prefix": "OTHER",
  "missing-source": "refuse",
  "missed-pods": "evict",
  "rollout-on-change": true,
  extensions: true,
  "extension-hosts": "hooks.example.com",
  "agent-rollouts": true,
  "inline-flags": true,
  flagd: true,
  "flagd-image": "registry.example/f",
  "flagd-tag": "v9",
  "flagd-port": 9018,
  "flagd-ofrep-port": 9019,
  "flagd-sync-port": 9020,
  "flagd-management-port": 9021,
  "flags-validation": false,
  "log-format": "console",
  debug: true,
};

describe("the operator's Helm chart", () => {
  skipWithout("BUNTING_HELM");

  it("passes helm lint --strict", async () => {
    const takeover = parse(
      readFileSync(path.join(operatorChartFolder, "values-takeover.yaml"), "utf8"),
    ) as object;
    for (const values of [{}, takeover]) {
      const { code, stdout, stderr } = await helm(["lint", "--strict", operatorChartFolder], { values });
      expect(stdout + stderr)
        .to.contain("0 chart(s) failed")
        .and.not.contain("[WARNING]");
      expect(code).to.equal(0);
    }
  });

  it("passes each option to the operator, as the operator reads it", async () => {
    const schema = JSON.parse(readFileSync(path.join(operatorChartFolder, "values.schema.json"), "utf8")) as {
      properties: { options: { properties: object } };
    };
    expect(Object.keys(schema.properties.options.properties)).to.have.members(Object.keys(changedOptions));
    const [command, ...argv] = argsOf(
      await rendered({ options: changedOptions, extraArgs: ["--pod-name=x"] }),
    );
    expect(command).to.equal("start");
    const { options, warnings } = await readOptions(operatorOptionTable, {
      argv,
      env: {},
      readsConfig: false,
    });
    expect(warnings).to.deep.equal([]);
    for (const [key, spec] of publicOptions(operatorOptionTable)) {
      if (!(flagName(key, spec) in changedOptions)) continue;
      expect(options[key as keyof typeof options], key).to.not.deep.equal(spec.default);
    }
    expect(options).to.deep.include({
      podName: "x",
      sidecarCpuLimit: "0.5",
      inProcessCacheMaxSize: 1_000_000,
      imagePullSecrets: ["one", "two"],
      proxyOption: { "deletion-policy": "empty" },
      proxyServiceAccount: "bunting-operator-flagd-proxy",
      webhookService: "bunting-operator",
    });
  });

  it("refuses what it does not know", async () => {
    const refused = (values: object): Promise<string> => refusal(values, operatorChartFolder);
    expect(await refused({ options: { "cross-namespaces": "deny" } })).to.contain("cross-namespaces");
    expect(await refused({ options: { "cross-namespace": "maybe" } })).to.contain("cross-namespace");
    expect(await refused({ options: { "webhook-port": 1 } })).to.contain("webhook-port");
    expect(await refused({ replica: 1 })).to.contain("replica");
    expect(await refused({ serviceAccount: { create: false } })).to.contain("serviceAccount.name");
    expect(await refused({ certificates: { mode: "cert-manager" } })).to.contain(
      "certificates.issuerRef.name",
    );
  });

  it("puts the Pods on their nodes' network where asked, with ports that are free there", async () => {
    const ports = { webhook: 9555, metrics: 9556, health: 9557 };
    const manifests = await rendered({ hostNetwork: true, ports });
    const pod = podOf(manifests);
    expect(pod).to.include({ hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" });
    expect(pod.containers[0]?.ports.map(({ containerPort }) => containerPort)).to.deep.equal([
      9555, 9556, 9557,
    ]);
    const [, ...argv] = argsOf(manifests);
    const { options } = await readOptions(operatorOptionTable, { argv, env: {}, readsConfig: false });
    expect(options).to.deep.include({
      webhookPort: 9555,
      metricsBindAddress: { port: 9556 },
      healthProbeBindAddress: { port: 9557 },
    });
    // Each replica has these ports of its node: a third one may find none.
    const { strategy } = one(manifests, "Deployment").spec as { strategy: { rollingUpdate: object } };
    expect(strategy.rollingUpdate).to.deep.equal({ maxSurge: 1, maxUnavailable: 1 });
    expect(podOf(await rendered({ dnsPolicy: "Default" }))).to.include({ dnsPolicy: "Default" });
    expect(podOf(await rendered())).to.not.have.any.keys("hostNetwork", "dnsPolicy");
  });

  it("has only Pods of a selector injected, warned of and missed, and refuses them without an operator if asked", async () => {
    const objectSelector = {
      matchLabels: { team: "shop" },
      matchExpressions: [
        { key: "tier", operator: "In", values: ["a", "b"] },
        { key: "old", operator: "DoesNotExist" },
        { key: "new", operator: "Exists" },
      ],
    };
    const manifests = await rendered({
      mutatingWebhook: { failurePolicy: "Fail", objectSelector },
      policies: { injection: "always" },
    });
    const { webhooks } = one(manifests, "MutatingWebhookConfiguration") as unknown as {
      webhooks: { name: string; failurePolicy: string; objectSelector: object }[];
    };
    expect(webhooks[0]).to.include({ name: "mutate.openfeature.dev", failurePolicy: "Fail" });
    const ofPolicy = { key: "bunting.dev/injected-by", operator: "NotIn", values: ["policy"] };
    for (const [index, webhook] of webhooks.entries())
      expect(webhook.objectSelector).to.deep.equal(
        index > 0
          ? objectSelector
          : { ...objectSelector, matchExpressions: [...objectSelector.matchExpressions, ofPolicy] },
      );
    const constraints = [
      "MutatingAdmissionPolicy inject.bunting.dev",
      "ValidatingAdmissionPolicy notice.bunting.dev",
    ].map((each) => {
      const [kind = "", name = ""] = each.split(" ");
      return (named(manifests, kind, name).spec as { matchConstraints: object }).matchConstraints;
    });
    for (const each of constraints) expect(each).to.deep.include({ objectSelector });
    expect(argsOf(manifests)).to.include("--pod-selector=team=shop,tier in (a,b),!old,new");
  });

  it("installs the operator for two replicas that restart one after the other", async () => {
    const manifests = await rendered();
    const { replicas, strategy } = one(manifests, "Deployment").spec as {
      replicas: number;
      strategy: unknown;
    };
    expect(replicas).to.equal(2);
    expect(strategy).to.deep.equal({
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    });
    expect(one(manifests, "PodDisruptionBudget").spec).to.deep.include({ maxUnavailable: 1 });
    const [container] = podOf(manifests).containers;
    expect(container?.image).to.equal("ghcr.io/bunting/bunting-operator:0.1.0");
    expect(container?.env.map(({ name }) => name)).to.deep.equal(["POD_NAMESPACE", "POD_NAME"]);
  });

  it("grants exactly what the code's table says that these options need", async () => {
    const chosen: Readonly<Record<string, string>> = {
      "flag-reader-role": "bunting-operator-flagd-proxy",
      namespace: "bunting-system",
    };
    const tableOf = (
      scopes: readonly string[],
      servesAll: boolean,
      isOn: (option: string, is: readonly string[]) => boolean,
    ): string[] =>
      grants(
        permissions
          .filter((each) => scopes.includes(each.scope) && isGranted(each, servesAll))
          .filter(({ onlyIf }) => onlyIf === undefined || isOn(onlyIf.option, onlyIf.is))
          .map(({ apiGroup, names, resources, verbs }) => ({
            resources,
            verbs,
            apiGroups: [apiGroup],
            ...(names === undefined
              ? {}
              : { resourceNames: names.map((name) => nameWith(name, (option) => chosen[option] ?? "")) }),
          })),
      );
    const defaults = Object.fromEntries(
      publicOptions(operatorOptionTable).map(([key, spec]) => [
        flagName(key, spec),
        spec.type.show(spec.default),
      ]),
    );
    for (const options of [
      {},
      { takeover: true },
      { "leader-elect": false },
      { "missed-pods": "evict", flagd: true, "rollout-on-change": true, "provider-kubernetes": "direct" },
      { "agent-rollouts": true },
      { "inline-flags": true },
    ] as const) {
      const values: Record<string, string> = { ...defaults };
      for (const [name, value] of Object.entries(options)) values[name] = String(value);
      const isOn = (option: string, is: readonly string[]): boolean => is.includes(values[option] ?? "");
      const manifests = await rendered({ options });
      const rulesOf = (from: Manifest[], kind: string, name = "bunting-operator"): string[] =>
        grants(named(from, kind, name)["rules"]);
      const of = JSON.stringify(options);
      expect(rulesOf(manifests, "Role"), of).to.deep.equal(tableOf(["namespace"], true, isOn));
      const wide = tableOf(["cluster", "served"], true, isOn);
      expect(rulesOf(manifests, "ClusterRole"), of).to.deep.equal(wide);
      if ("agent-rollouts" in options) continue;
      const some = await rendered({ options, watchNamespaces: ["shop", "checkout"] });
      expect(rulesOf(some, "Role"), of).to.deep.equal(tableOf(["namespace"], false, isOn));
      expect(rulesOf(some, "ClusterRole"), of).to.deep.equal(tableOf(["cluster"], false, isOn));
      for (const namespace of ["shop", "checkout"]) {
        const there = some.filter(({ metadata }) => metadata.namespace === namespace);
        const served = tableOf(["served"], false, isOn);
        expect(rulesOf(there, "Role", "bunting-operator-served"), of).to.deep.equal(served);
      }
    }
  });

  it("has no rights in the whole cluster for an operator of some namespaces, but those to its own webhooks", async () => {
    const manifests = await rendered(
      { watchNamespaces: ["shop", "bunting-system"] },
      "flags",
      "bunting-system",
    );
    const wide = manifests.filter(({ kind }) => kind === "ClusterRole");
    expect(wide.flatMap(({ rules }) => grants(rules))).to.deep.equal(
      ["mutating", "validating"].flatMap((what) =>
        ["list", "watch", "patch"].map(
          (verb) =>
            `admissionregistration.k8s.io/${what}webhookconfigurations/bunting-operator-bunting-system ${verb}`,
        ),
      ),
    );
    const bound = manifests.filter(({ kind }) => kind === "RoleBinding");
    expect(bound.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)).to.have.members([
      "bunting-system/flags-bunting-operator",
      "bunting-system/flags-bunting-operator-served",
      "bunting-system/flags-bunting-operator-flagd-proxy",
      "shop/flags-bunting-operator-served",
      "shop/flags-bunting-operator-flagd-proxy",
    ]);
    const proxy = named(
      manifests.filter(({ metadata }) => metadata.namespace === "shop"),
      "Role",
      "flags-bunting-operator-flagd-proxy",
    );
    expect(grants(proxy["rules"])).to.deep.equal(
      ["core.openfeature.dev/featureflags/", "bunting.dev/injections/"].flatMap((what) =>
        ["get", "list", "watch"].map((verb) => `${what} ${verb}`),
      ),
    );
    expect(argsOf(manifests)).to.include("--watch-namespaces=shop,bunting-system");
  });

  it("calls its webhooks, and holds its policies, in the namespaces alone that it serves, beside another release", async () => {
    const values = (...watchNamespaces: readonly string[]): object => ({
      watchNamespaces,
      options: { "inline-flags": true },
      policies: { injection: "always" },
    });
    const manifests = await rendered(values("shop", "checkout"), "bunting-operator", "team-a");
    const others = await rendered(values("blog"), "bunting-operator", "team-b");
    const isWide = ({ kind, metadata }: Manifest): boolean =>
      metadata.namespace === undefined && kind !== "CustomResourceDefinition";
    const keys = (from: Manifest[]): string[] =>
      from.filter(isWide).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(keys(manifests).filter((key) => keys(others).includes(key))).to.deep.equal([]);
    const served = { key: "kubernetes.io/metadata.name", operator: "In", values: ["shop", "checkout"] };
    const selectors = manifests.flatMap(({ kind, spec, ...rest }): unknown[] => {
      if (kind.endsWith("AdmissionPolicyBinding"))
        return [
          (spec as { matchResources: { namespaceSelector: unknown } }).matchResources.namespaceSelector,
        ];
      const { webhooks = [] } = rest as { webhooks?: { namespaceSelector: unknown }[] };
      return webhooks.map(({ namespaceSelector }) => namespaceSelector);
    }) as { matchExpressions: unknown[] }[];
    expect(selectors).to.have.length(6 + 9);
    for (const { matchExpressions } of selectors) expect(matchExpressions.at(-1)).to.deep.equal(served);
    const policies = manifests.filter(({ kind }) => kind.endsWith("AdmissionPolicy"));
    const bindings = manifests.filter(({ kind }) => kind.endsWith("AdmissionPolicyBinding"));
    expect(bindings.map(({ spec }) => (spec as { policyName: string }).policyName)).to.have.members(
      policies.map(({ metadata }) => metadata.name),
    );
  });

  it("refuses beside some namespaces what needs more than rights there", async () => {
    const watchNamespaces = ["shop"];
    const refused = (values: object): Promise<string> =>
      refusal({ watchNamespaces, ...values }, operatorChartFolder);
    expect(await refused({ options: { "agent-rollouts": true } })).to.contain("agent-rollouts");
    expect(await refused({ rbac: { keepStockBinding: true } })).to.contain("keepStockBinding");
    expect(await refused({ watchNamespaces: ["Shop"] })).to.contain("watchNamespaces");
  });

  it("makes the same objects as deploy/kustomize", async () => {
    const manifests = await rendered({ policies: { injection: "always" } });
    const files = ["service-accounts", "rbac", "deployment", "service", "disruption-budget", "webhooks"];
    const policies = ["inject", "notice", "feature-flags", "operator"];
    const written = [
      ...files.map((file) => `kustomize/operator/${file}.yaml`),
      ...policies.map((file) => `policies/${file}.yaml`),
    ].flatMap((file) => parseManifests(readFileSync(path.join(root, "deploy", file), "utf8")));
    // Labels are the overlay's; the chart's objects are told apart by their release.
    const plain = ({ metadata, ...rest }: Manifest): unknown =>
      JSON.parse(
        JSON.stringify({ ...rest, name: metadata.name })
          .replaceAll(',"app.kubernetes.io/instance":"bunting-operator"', "")
          .replaceAll('"app.kubernetes.io/instance":"bunting-operator",', ""),
      );
    const isWritten = ({ kind, metadata }: Manifest): boolean =>
      written.some((one) => one.kind === kind && one.metadata.name === metadata.name);
    const others = manifests.filter((each) => !isWritten(each)).map(({ kind }) => kind);
    expect(new Set(others)).to.deep.equal(new Set(["CustomResourceDefinition"]));
    for (const object of written)
      expect(plain(named(manifests, object.kind, object.metadata.name))).to.deep.equal(plain(object));
  });

  it("names its own namespace, Service and ServiceAccount to the webhooks and policies", async () => {
    const values = {
      fullnameOverride: "flags",
      serviceAccount: { name: "someone" },
      policies: { injection: "always" },
    };
    const manifests = await rendered(values, "bunting-operator", "elsewhere");
    const { webhooks } = one(manifests, "MutatingWebhookConfiguration") as unknown as {
      webhooks: {
        clientConfig: { service: object };
        namespaceSelector: { matchExpressions: { values: string[] }[] };
      }[];
    };
    for (const { clientConfig, namespaceSelector } of webhooks) {
      expect(clientConfig.service).to.include({ name: "flags", namespace: "elsewhere" });
      expect(namespaceSelector.matchExpressions[0]?.values).to.deep.equal(["kube-system", "elsewhere"]);
    }
    const text = JSON.stringify(manifests.filter(({ kind }) => kind.startsWith("ValidatingAdmissionPolicy")));
    expect(text).to.contain("system:serviceaccount:elsewhere:someone").and.not.contain("bunting-system");
  });

  it("injects by a policy only where the API server can, unless told otherwise", async () => {
    const kindsOf = async (values: object, ...flags: string[]): Promise<string[]> => {
      const { stdout } = await helm(["template", "o", operatorChartFolder, ...flags], { values });
      return parseManifests(stdout).map(({ kind }) => kind);
    };
    const served = ["--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"];
    expect(await kindsOf({}, ...served)).to.include.members([
      "MutatingAdmissionPolicy",
      "MutatingAdmissionPolicyBinding",
    ]);
    expect(await kindsOf({})).to.not.include("MutatingAdmissionPolicy");
    expect(await kindsOf({ policies: { injection: "never" } }, ...served)).to.not.include(
      "MutatingAdmissionPolicy",
    );
    expect(await kindsOf({ policies: { injection: "never" } })).to.include("ValidatingAdmissionPolicy");
  });

  it("has no webhook for FeatureFlags if they are not to be checked, and lets cert-manager fill the others if asked", async () => {
    const issuerRef = { name: "internal" };
    const manifests = await rendered({
      options: { "flags-validation": false },
      certificates: { mode: "cert-manager", issuerRef },
    });
    expect(manifests.some(({ kind }) => kind === "ValidatingWebhookConfiguration")).to.equal(false);
    const { metadata } = one(manifests, "MutatingWebhookConfiguration");
    expect(metadata.annotations).to.deep.equal({
      "cert-manager.io/inject-ca-from": "bunting-system/bunting-operator",
    });
  });

  it("lets the proxy read FeatureFlags and Injections, and nothing else", async () => {
    const manifests = await rendered();
    const role = named(manifests, "ClusterRole", "bunting-operator-flagd-proxy");
    expect(grants(role["rules"])).to.deep.equal(
      ["core.openfeature.dev/featureflags/", "bunting.dev/injections/"].flatMap((what) =>
        ["get", "list", "watch"].map((verb) => `${what} ${verb}`),
      ),
    );
    expect(named(manifests, "ClusterRoleBinding", "bunting-operator-flagd-proxy")["subjects"]).to.deep.equal([
      { kind: "ServiceAccount", name: "bunting-operator-flagd-proxy", namespace: "bunting-system" },
    ]);
  });

  it("is introduced by notes that name its namespace, say what comes first, and warn of an image that nobody has", async () => {
    const notes = async (values: object, namespace: string): Promise<string> => {
      const args = ["install", "flags", operatorChartFolder, "--namespace", namespace, "--dry-run=client"];
      const { code, stdout, stderr } = await helm(args, { values });
      if (code !== 0) throw new Error(stderr);
      return stdout.slice(stdout.indexOf("\nNOTES:\n"));
    };
    const usual = await notes({}, "flags");
    expect(usual).to.contain("bunting check --namespace flags\n").and.to.contain("ImagePullBackOff");
    expect(usual).to.contain("`helm uninstall` leaves the resource types");
    const image = { repository: "registry.example/bunting-operator" };
    const own = await notes({ image, defaultNamespace: "system", crds: { keep: false } }, "default");
    expect(own).to.contain("installed in system.").and.not.to.contain("ImagePullBackOff");
    expect(own).to.contain("deletes the resource types and all FeatureFlags");
  });

  it("keeps the resource types when it is uninstalled, unless told otherwise", async () => {
    const policiesOf = async (values: object): Promise<(string | undefined)[]> =>
      (await rendered(values))
        .filter(({ kind }) => kind === "CustomResourceDefinition")
        .map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
    const kept = await policiesOf({});
    expect(kept.length).to.be.greaterThan(3);
    expect(new Set(kept)).to.deep.equal(new Set(["keep"]));
    expect(new Set(await policiesOf({ crds: { keep: false } }))).to.deep.equal(new Set([undefined]));
    expect(await policiesOf({ crds: { install: false } })).to.deep.equal([]);
  });

  it("mounts a certificate that is not of the operator's own authority, and has cert-manager make it", async () => {
    const issuerRef = { name: "internal" };
    const manifests = await rendered({
      certificates: { mode: "cert-manager", secretName: "hook", issuerRef },
    });
    expect(one(manifests, "Certificate").spec).to.deep.include({
      secretName: "hook",
      dnsNames: ["bunting-operator.bunting-system.svc", "bunting-operator.bunting-system.svc.cluster.local"],
    });
    expect(podOf(manifests).volumes).to.deep.equal([{ name: "webhook", secret: { secretName: "hook" } }]);
    expect(argsOf(manifests)).to.include.members([
      "--certificates=cert-manager",
      "--webhook-cert-path=/etc/bunting/webhook",
    ]);
    const own = await rendered();
    expect(podOf(own).volumes).to.equal(undefined);
    expect(own.some(({ kind }) => kind === "Certificate")).to.equal(false);
  });
});

/** `a.b.c` of all that is no map in `values`, and of empty maps. */
function leavesOf(values: object, path = ""): string[] {
  return Object.entries(values).flatMap(([name, value]: [string, unknown]) => {
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isMap && Object.keys(value).length > 0) return leavesOf(value, `${path}${name}.`);
    return [`${path}${name}`];
  });
}

/** Values with something at each of these paths. */
function allOf(paths: readonly string[]): object {
  const values: Record<string, unknown> = {};
  for (const each of paths) {
    const parts = each.split(".");
    const last = parts.pop() ?? "";
    let at = values;
    for (const part of parts) at = (at[part] ??= {}) as Record<string, unknown>;
    at[last] = "8113";
  }
  return values;
}

describe("the operator's Helm chart in place of the open-feature-operator's", () => {
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  let directory: TempDirectory | undefined;
  let defaults: object;
  let stockChart: string;
  let stock: readonly Manifest[];
  let ours: readonly Manifest[];

  before(async function () {
    this.timeout(120_000);
    directory = new TempDirectory();
    const chart = await operatorChart(directory.path);
    if (chart === undefined) {
      this.skip();
      return;
    }
    stockChart = chart;
    defaults = parse(readFileSync(path.join(chart, "values.yaml"), "utf8")) as object;
    const [release, namespace] = ["open-feature-operator", "open-feature-operator-system"];
    const values = parse(
      readFileSync(path.join(operatorChartFolder, "values-takeover.yaml"), "utf8"),
    ) as object;
    stock = await render({}, release, namespace, chart);
    ours = await rendered(values, release, namespace);
  });
  after(() => directory?.remove());

  it("has the Deployment's name and selector, which can't be changed, so that what it owns stays", () => {
    const [theirs, own] = [one(stock, "Deployment"), one(ours, "Deployment")];
    expect(own.metadata.name).to.equal(theirs.metadata.name);
    const selectorOf = ({ spec }: Manifest): unknown => (spec as { selector: unknown }).selector;
    expect(selectorOf(own)).to.deep.equal(selectorOf(theirs));
    const { labels } = (own.spec as { template: { metadata: { labels: object } } }).template.metadata;
    expect(labels).to.include((selectorOf(own) as { matchLabels: object }).matchLabels);
  });

  it("has a place for each of its values, and says which to whoever gives one that is called otherwise here", async () => {
    const folder = operatorChartFolder;
    const places = parse(readFileSync(path.join(folder, "files/stock-values.yaml"), "utf8")) as Record<
      string,
      string
    >;
    const shared = ["defaultNamespace", "imagePullSecrets", "mutatingWebhook.failurePolicy"];
    expect([...Object.keys(places), ...shared, "mutatingWebhook.objectSelector"]).to.have.members(
      leavesOf(defaults),
    );
    const own = leavesOf(parse(readFileSync(path.join(folder, "values.yaml"), "utf8")) as object);
    expect(own).to.include.members(shared);
    const options = publicOptions(operatorOptionTable).map(([key, spec]) => `options.${flagName(key, spec)}`);
    const known = [...own, ...options, "resources.limits.cpu", "debugLogging", "otelCollectorUri", "nothing"];
    for (const place of Object.values(places))
      expect(known, place).to.include(/^(?:nothing|[\w.-]+)/.exec(place)?.[0]);
    const all = await refusal(allOf(Object.keys(places)), folder);
    for (const [name, place] of Object.entries(places)) expect(all).to.contain(`${name} is ${place}`);
    const values = { sidecarConfiguration: { port: 8113 }, controllerManager: { replicas: 0 } };
    expect(await refusal(values, folder)).to.contain(
      "controllerManager.replicas is replicas; sidecarConfiguration.port is options.sidecar-port",
    );
    expect(await refusal({ sidecarConfiguration: { image: { tags: 1 } }, replica: 1 }, folder)).to.contain(
      "replica",
    );
  });

  it("is told by `bunting operator migrate check` of each setting of its release that is not the default", async () => {
    expect(carriedValues(one(stock, "Deployment"))).to.deep.equal([]);
    const places = parse(
      readFileSync(path.join(operatorChartFolder, "files/stock-values.yaml"), "utf8"),
    ) as Record<string, string>;
    const isReadByOperator = (name: string): boolean =>
      /^(?:sidecar|inProcess|flagdProxy|flagd)Configuration|flagsValidation|Port$|\.port$/.test(name);
    const names = Object.keys(places).filter(isReadByOperator);
    const values = { ...allOf(names), imagePullSecrets: [{ name: "pull" }], labels: { team: "a" } };
    const manifests = await render(values, "open-feature-operator", "flags", stockChart);
    const carried = carriedValues(one(manifests, "Deployment"));
    const expected = names
      .map((name) => places[name] ?? "")
      .filter((place) => /^(?:options|ports)\.\S+$/.test(place) && !/-(?:image|tag)$/.test(place));
    expect(carried).to.have.members([
      ...expected.map((place) => `${place}: 8113`),
      "options.image-pull-secrets: pull",
      "options.labels: team:a",
    ]);
  });

  it("has its resource types, ServiceAccounts and the Service of its webhooks, so that Helm deletes none of them", () => {
    const kinds = ["CustomResourceDefinition", "ServiceAccount"];
    const namesOf = (manifests: readonly Manifest[]): string[] =>
      manifests
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(namesOf(ours)).to.include.members(namesOf(stock));
    const service = named(stock, "Service", "open-feature-operator-webhook-service");
    const own = named(ours, "Service", "open-feature-operator-webhook-service");
    expect((own.spec as { selector: unknown }).selector).to.deep.equal(
      (service.spec as { selector: unknown }).selector,
    );
  });

  it("lets it renew its Lease until it is replaced, and nothing else by that", () => {
    const name = "open-feature-operator-leader-election-role";
    const bound = name.replace(/role$/, "rolebinding");
    expect(grants(named(ours, "Role", name)["rules"])).to.deep.equal(
      ["get", "update"].map((verb) => `coordination.k8s.io/leases/131bf64c.openfeature.dev ${verb}`),
    );
    for (const field of ["roleRef", "subjects"])
      expect(named(ours, "RoleBinding", bound)[field]).to.deep.equal(
        named(stock, "RoleBinding", bound)[field],
      );
  });

  it("keeps the binding by which running sidecars read FeatureFlags, and lets Pods be as they were", () => {
    const binding = "open-feature-operator-flagd-kubernetes-sync";
    expect(named(ours, "ClusterRole", binding)["rules"]).to.deep.equal(
      named(stock, "ClusterRole", binding)["rules"],
    );
    expect(named(ours, "ClusterRoleBinding", binding)["roleRef"]).to.deep.include({ name: binding });
    expect(argsOf(ours)).to.include.members([
      "--application-env=stock",
      "--host-network-pods=inject",
      "--missing-source=refuse",
      "--sidecar-cpu-request=200m",
      "--sidecar-cpu-limit=500m",
      "--cross-namespace=legacy",
      "--provider-kubernetes=direct",
      "--proxy-service-account=open-feature-operator-flagd-proxy",
    ]);
  });
});
