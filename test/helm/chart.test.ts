import { expect } from "chai";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { proxyOptionTable } from "@bunting/proxy/internal/options.js";
import { readOptions } from "@bunting/runtime";
import { parse } from "yaml";
import { chartFolder, helm, one, refusal, render, root, type Manifest } from "./support/chart.js";
import { skipWithout } from "./support/tool.js";

const everything = {
  podMonitor: { enabled: true },
  agents: { podMonitor: { enabled: true } },
  prometheusRule: { enabled: true },
  dashboards: { enabled: true },
};

/** A value of each option of the chart other than its default, as one would write it in YAML. */
const changedOptions: Readonly<Record<string, unknown>> = {
  source: "dir:/flags",
  "watch-scope": "namespace",
  "watch-timeout": "1m30s",
  "remote-hosts": "flags.example.com",
  "max-remotes": 7,
  "missing-policy": "fail",
  "deletion-grace": 0,
  "deletion-policy": "empty",
  "topic-linger": "0s",
  compression: "off",
  "stall-timeout": "300ms",
  "keepalive-interval": "10s",
  "keepalive-timeout": "5s",
  "max-connection-age": "1h",
  "ack-timeout": "1m",
  "first-snapshot-rate": 1_000_000,
  "first-snapshot-burst": 7,
  "max-streams-per-connection": 100_000,
  "peer-memory": "64Mi",
  "max-topics-per-connection": 0,
  "max-topics-per-address": 0,
  "drain-delay": "1.5s",
  "drain-window": "10s",
  "status-token-file": "/tokens",
  status: "off",
  "log-format": "json",
  debug: true,
  tls: "both",
  "tls-cert-path": "/tls/tls.crt",
  "tls-key-path": "/tls/tls.key",
  "tls-client-ca-path": "/tls/ca.crt",
  "tls-client-auth": "request",
  "management-tls": "on",
  auth: "token",
  "auth-audience": "flags",
  "auth-issuer": "https://issuer.example",
  "auth-jwks-file": "/keys/jwks.json",
  "auth-certificate-uri": "spiffe://example.org/ns/{namespace}/sa/{serviceAccount}",
  "auth-recheck": "30s",
  "token-review": true,
  authorize: "rbac",
  "management-auth": "rbac",
  "cache-dir": "/cache",
  "cache-size": "8Mi",
  "topic-prefix": "eu/",
  "upstream-tls": true,
  "upstream-ca-file": "/upstream/ca.crt",
  "upstream-client-cert-file": "/upstream/tls.crt",
  "upstream-client-key-file": "/upstream/tls.key",
  "upstream-token-file": "/upstream/token",
  "upstream-token-over-plaintext": true,
  backplane: "rediss://redis:6379/0",
  "backplane-user-file": "/redis/user",
  "backplane-password-file": "/redis/password",
  "backplane-sentinel-user-file": "/redis/sentinel-user",
  "backplane-sentinel-password-file": "/redis/sentinel-password",
  "backplane-ca-file": "/redis/ca.crt",
  "backplane-cert-file": "/redis/tls.crt",
  "backplane-tls-key-file": "/redis/tls.key",
  "backplane-server-name": "redis.example",
  "backplane-key-file": "/redis/keys",
  "backplane-key-prefix": "flags:",
  "backplane-lease": "8s",
};

const containerOf = (
  manifests: readonly Manifest[],
): { args: string[]; image: string; [other: string]: unknown } =>
  (one(manifests, "Deployment").spec as { template: { spec: { containers: [never] } } }).template.spec
    .containers[0];

describe("the Helm chart", () => {
  skipWithout("BUNTING_HELM");

  it("passes helm lint --strict", async () => {
    for (const values of [{}, everything]) {
      const { code, stdout, stderr } = await helm(["lint", "--strict", chartFolder], { values });
      expect(stdout + stderr)
        .to.contain("0 chart(s) failed")
        .and.not.contain("[WARNING]");
      expect(code).to.equal(0);
    }
  });

  it("installs the proxy and what it needs, and the resource types", async () => {
    const manifests = await render();
    expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).to.deep.equal([
      "ClusterRole bunting-proxy",
      "ClusterRoleBinding bunting-proxy",
      "CustomResourceDefinition agentrollouts.bunting.dev",
      "CustomResourceDefinition extensions.bunting.dev",
      "CustomResourceDefinition featureflags.core.openfeature.dev",
      "CustomResourceDefinition featureflagsources.core.openfeature.dev",
      "CustomResourceDefinition flagds.core.openfeature.dev",
      "CustomResourceDefinition injections.bunting.dev",
      "CustomResourceDefinition inprocessconfigurations.core.openfeature.dev",
      "Deployment bunting-proxy",
      "NetworkPolicy bunting-proxy",
      "PodDisruptionBudget bunting-proxy",
      "Service bunting-proxy",
      "ServiceAccount bunting-proxy",
    ]);
  });

  it("makes the same Pods, Service, NetworkPolicy and permissions as deploy/kustomize", async () => {
    const manifests = await render();
    const kustomize = (file: string): Manifest =>
      parse(readFileSync(path.join(root, "deploy/kustomize/base", file), "utf8")) as Manifest;
    // The chart's objects are told apart by their release, and say which tag is pulled when.
    const withoutRelease = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value)
          .replaceAll(',"app.kubernetes.io/instance":"bunting"', "")
          .replaceAll('"app.kubernetes.io/instance":"bunting",', "")
          .replaceAll('"imagePullPolicy":"IfNotPresent",', "")
          .replaceAll(',"protocol":"TCP"', ""),
      ) as unknown;
    for (const [kind, file] of [
      ["Deployment", "deployment.yaml"],
      ["Service", "service.yaml"],
    ] as const) {
      expect(withoutRelease(one(manifests, kind).spec), kind).to.deep.equal(kustomize(file).spec);
    }
    const policy = one(manifests, "NetworkPolicy").spec;
    expect(withoutRelease(policy)).to.deep.equal(withoutRelease(kustomize("network-policy.yaml").spec));
    const rbac =
      readFileSync(path.join(root, "deploy/kustomize/base/rbac.yaml"), "utf8").split("---")[1] ?? "";
    expect(one(manifests, "ClusterRole")["rules"]).to.deep.equal((parse(rbac) as Manifest)["rules"]);
  });

  it("names the image by repository and tag, or by digest", async () => {
    const imageOf = async (image: object): Promise<string> => containerOf(await render({ image })).image;
    const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      version: string;
    };
    expect(await imageOf({})).to.equal(`ghcr.io/bunting/bunting-proxy:${version}`);
    expect(await imageOf({ repository: "registry.example/p", tag: "v7" })).to.equal("registry.example/p:v7");
    const digest = `sha256:${"0".repeat(64)}`;
    expect(await imageOf({ tag: "v7", digest })).to.equal(`ghcr.io/bunting/bunting-proxy@${digest}`);
  });

  it("passes each option to the proxy, as the proxy reads it", async () => {
    const schema = JSON.parse(readFileSync(path.join(chartFolder, "values.schema.json"), "utf8")) as {
      properties: { options: { properties: object } };
    };
    expect(Object.keys(schema.properties.options.properties)).to.have.members(Object.keys(changedOptions));
    const { args } = containerOf(await render({ options: changedOptions, extraArgs: ["--host=::1"] }));
    const [command, ...argv] = args;
    expect(command).to.equal("start");
    const { options, warnings } = await readOptions(proxyOptionTable, {
      argv,
      env: {},
    });
    expect(warnings).to.deep.equal([]);
    const { options: defaults } = await readOptions(proxyOptionTable, { argv: [], env: {} });
    const changed = Object.entries(options).filter(
      ([key, value]) => value !== defaults[key as keyof typeof defaults],
    );
    expect(changed).to.have.length(Object.keys(changedOptions).length + 1);
    expect(options).to.include({
      firstSnapshotRate: 1_000_000,
      drainDelay: 1_500,
      peerMemory: 64 * 1024 * 1024,
      host: "::1",
    });
  });

  it("gives Pods the time to drain", async () => {
    const graceOf = async (values: object): Promise<number> =>
      (
        one(await render(values), "Deployment").spec as {
          template: { spec: { terminationGracePeriodSeconds: number } };
        }
      ).template.spec.terminationGracePeriodSeconds;
    expect(await graceOf({})).to.equal(15);
    expect(await graceOf({ options: { "drain-delay": "1m", "drain-window": "2m30s" } })).to.equal(
      60 + 150 + 1 + 6,
    );
    expect(await graceOf({ options: { "drain-delay": 0, "drain-window": "1ms" } })).to.equal(1 + 1 + 6);
    expect(await graceOf({ terminationGracePeriodSeconds: 40 })).to.equal(40);
    expect(await refusal({ terminationGracePeriodSeconds: 8 })).to.contain(
      "terminationGracePeriodSeconds: 8 s is too short: draining takes 9 s with these drain-delay and drain-window",
    );
  });

  it("restricts the proxy to namespaces", async () => {
    const manifests = await render({ rbac: { watchNamespaces: ["shop", "bunting-system"] } });
    const roles = manifests.filter(({ kind }) => kind.includes("Role"));
    expect(roles.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}`)).to.have.members([
      "Role shop",
      "RoleBinding shop",
      "Role bunting-system",
      "RoleBinding bunting-system",
    ]);
    for (const { kind, subjects } of roles.filter(({ kind }) => kind === "RoleBinding")) {
      expect(subjects, kind).to.deep.equal([
        { kind: "ServiceAccount", name: "bunting-proxy", namespace: "bunting-system" },
      ]);
    }
  });

  it("lets the proxy ask the API server about callers, as far as its options need that", async () => {
    const rulesOf = async (options: object, values: object = {}): Promise<string[]> => {
      const manifests = await render({ options, ...values });
      const bound = manifests
        .filter(({ kind }) => kind === "ClusterRoleBinding")
        .map((binding) => (binding["roleRef"] as { name: string }).name);
      const role = manifests.find(({ metadata }) => metadata.name === "bunting-proxy-access");
      const rules = (role?.["rules"] ?? []) as { resources: string[]; verbs: string[] }[];
      expect(bound.includes("bunting-proxy-access")).to.equal(role !== undefined);
      return [
        ...rules.map(({ resources, verbs }) => `${resources.join()} ${verbs.join()}`),
        ...bound.filter((name) => name.startsWith("system:")),
      ];
    };
    const keys = "system:service-account-issuer-discovery";
    expect(await rulesOf({})).to.deep.equal([]);
    expect(await rulesOf({ auth: "optional" })).to.deep.equal([keys]);
    expect(await rulesOf({ auth: "token", "token-review": true })).to.deep.equal([
      "tokenreviews create",
      keys,
    ]);
    expect(await rulesOf({ auth: "pod-ip", authorize: "rbac" })).to.deep.equal([
      "subjectaccessreviews create",
      "pods get,list",
    ]);
    expect(
      await rulesOf({ auth: "token", authorize: "rbac" }, { rbac: { watchNamespaces: ["shop"] } }),
    ).to.deep.equal(["subjectaccessreviews create", keys]);
    expect(await rulesOf({ auth: "token" }, { rbac: { create: false } })).to.deep.equal([]);
  });

  it("has the same permissions for callers as the components of deploy/kustomize", async () => {
    const role = one(
      (await render({ options: { auth: "pod-ip", authorize: "rbac", "token-review": true } })).filter(
        ({ metadata }) => metadata.name === "bunting-proxy-access",
      ),
      "ClusterRole",
    );
    const components = ["token-review", "rbac-authorization", "pod-ip"].flatMap((component) => {
      const file = path.join(root, "deploy/kustomize/components", component, "rbac.yaml");
      return (parse(readFileSync(file, "utf8").split("---")[0] ?? "") as Manifest)["rules"];
    });
    expect(role["rules"]).to.deep.equal(components);
  });

  it("can be installed twice in a cluster", async () => {
    const first = await render({ crds: { install: false } }, "one", "a");
    const second = await render({ crds: { install: false } }, "one", "b");
    const third = await render({ crds: { install: false } }, "two", "b");
    const names = [first, second, third].flatMap((manifests) =>
      manifests.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name].join(" ")),
    );
    expect(new Set(names).size).to.equal(names.length);
  });

  it("serves sidecars of the open-feature-operator under its name for the proxy, if asked", async () => {
    const services = (await render({ service: { flagdProxyAlias: true, port: 8015 } })).filter(
      ({ kind }) => kind === "Service",
    );
    const [own, alias] = services;
    expect(services.map(({ metadata }) => metadata.name)).to.deep.equal(["bunting-proxy", "flagd-proxy-svc"]);
    expect(alias?.spec).to.deep.equal(own?.spec);
  });

  it("lets labels of its own win, and puts those of values on everything", async () => {
    const commonLabels = { team: "platform", "app.kubernetes.io/name": "mine" };
    const manifests = await render({ ...everything, commonLabels, podLabels: { tier: "one" } });
    for (const { kind, metadata } of manifests) {
      expect(metadata.labels, kind).to.include({
        team: "platform",
        "app.kubernetes.io/name": "bunting-proxy",
      });
    }
    const { metadata } = (one(manifests, "Deployment").spec as { template: Manifest }).template;
    expect(metadata.labels).to.include({
      tier: "one",
      team: "platform",
      "app.kubernetes.io/name": "bunting-proxy",
    });
  });

  it("keeps the labels of Pods from one version of the chart to the next, so that they need not restart", async () => {
    const { labels } = (one(await render(), "Deployment").spec as { template: Manifest }).template.metadata;
    expect(Object.keys(labels)).to.have.members([
      "app.kubernetes.io/name",
      "app.kubernetes.io/instance",
      "app.kubernetes.io/part-of",
    ]);
  });

  describe("whatever is switched on and off", () => {
    const switches: readonly object[] = [
      { image: { tag: "v7" }, imagePullSecrets: [{ name: "pull" }] },
      { replicas: 0 },
      {
        extraEnv: [{ name: "A", value: "b" }],
        extraVolumes: [{ name: "v", emptyDir: {} }],
        extraVolumeMounts: [{ name: "v", mountPath: "/v" }],
      },
      { resources: {}, podSecurityContext: { runAsUser: null } },
      {
        podAnnotations: { a: "b" },
        nodeSelector: { a: "b" },
        tolerations: [{ operator: "Exists" }],
        priorityClassName: "high",
      },
      { topologySpreadConstraints: [] },
      { serviceAccount: { create: false, name: "mine" } },
      { rbac: { create: false } },
      { podDisruptionBudget: { maxUnavailable: null, minAvailable: "50%" } },
      { podDisruptionBudget: { enabled: false } },
      { networkPolicy: { enabled: false } },
      { networkPolicy: { syncFrom: [], metricsFrom: [], apiServerPorts: [] } },
      { crds: { install: false } },
      { serviceMonitor: { enabled: true, labels: { a: "b" } } },
      { dashboards: { enabled: true, namespace: "monitoring", annotations: { grafana_folder: "Bunting" } } },
      {
        prometheusRule: { enabled: true, alertLabels: { team: "a" }, disabledAlerts: ["BuntingProxyAbsent"] },
      },
      { fullnameOverride: "proxy", options: { debug: false } },
    ];

    for (const [index, chosen] of switches.entries()) {
      it(`renders objects that are unique and complete: ${JSON.stringify(chosen)}`, async () => {
        const other = switches[(index + 1) % switches.length];
        for (const values of [chosen, { ...other, ...chosen }]) {
          const manifests = await render(values);
          const names = manifests.map(
            ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""} ${metadata.name}`,
          );
          expect(new Set(names).size).to.equal(names.length);
          for (const manifest of manifests) {
            expect(manifest.apiVersion, manifest.kind).to.match(/^([a-z.0-9]+\/)?v1$/);
            expect(JSON.stringify(manifest)).to.not.contain("%!");
          }
        }
      });
    }
  });

  describe("refuses, with a sentence,", () => {
    const refused: Readonly<Record<string, readonly [values: unknown, sentence: string]>> = {
      "an unknown value": [{ replica: 3 }, "additional properties 'replica' not allowed"],
      "an unknown nested value": [
        { image: { name: "x" } },
        "at '/image': additional properties 'name' not allowed",
      ],
      "an unknown option": [
        { options: { "drain-dely": "1s" } },
        "at '/options': additional properties 'drain-dely' not allowed",
      ],
      "an option that the chart sets": [
        { options: { port: 1 } },
        "at '/options': additional properties 'port' not allowed",
      ],
      "a text for a number": [{ replicas: "two" }, "at '/replicas': got string, want integer"],
      "another choice": [
        { options: { "deletion-policy": "drop" } },
        "at '/options/deletion-policy': value must be one of 'keep', 'empty', 'close'",
      ],
      "a number out of bounds": [
        { options: { "first-snapshot-burst": 0 } },
        "at '/options/first-snapshot-burst': minimum: got 0, want 1",
      ],
      "a duration without a unit": [
        { options: { "drain-delay": "5" } },
        'options.drain-delay: expected a duration such as 300ms, 5s or 1m30s, got "5"',
      ],
      "a number as a duration": [
        { options: { "drain-delay": 5 } },
        'options.drain-delay: expected a duration such as 300ms, 5s or 1m30s, got "5"',
      ],
      "a duration that is too short": [
        { options: { "stall-timeout": "99ms" } },
        'options.stall-timeout: expected a duration from 100ms to 8760h, or 0, got "99ms"',
      ],
      "a duration that is too long": [
        { options: { "ack-timeout": "2h" } },
        'options.ack-timeout: expected a duration from 100ms to 1h, got "2h"',
      ],
      "no duration where one is needed": [
        { options: { "ack-timeout": 0 } },
        'options.ack-timeout: expected a duration from 100ms to 1h, got "0"',
      ],
      "an unknown unit of bytes": [
        { options: { "peer-memory": "64MB" } },
        'options.peer-memory: expected bytes such as 64Mi, from 1Mi to 1024Gi, or auto, got "64MB"',
      ],
      "no ServiceAccount": [
        { serviceAccount: { create: false } },
        "serviceAccount.name: name the ServiceAccount to use, because serviceAccount.create is false",
      ],
      "two bounds of disruption": [
        { podDisruptionBudget: { minAvailable: 1 } },
        "podDisruptionBudget: only one of maxUnavailable and minAvailable may be set; set the other to null",
      ],
      "two monitors": [
        { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } },
        "podMonitor and serviceMonitor: enable one of them; with both, Prometheus would scrape each proxy twice",
      ],
    };
    for (const [what, [values, sentence]] of Object.entries(refused)) {
      it(what, async () => {
        expect(await refusal(values)).to.contain(sentence);
      });
    }
  });

  it("has the resource types of deploy/crds, which uninstalling leaves", async () => {
    const folder = path.join(root, "deploy/crds");
    const files = readdirSync(folder).filter((name) => name !== "kustomization.yaml");
    const crdsOf = async (values: object): Promise<Manifest[]> =>
      (await render(values)).filter(({ kind }) => kind === "CustomResourceDefinition");
    const kept = await crdsOf({});
    expect(kept).to.have.length(files.length);
    for (const file of files) {
      const original = parse(readFileSync(path.join(folder, file), "utf8")) as Manifest;
      const crd = kept.find(({ metadata }) => metadata.name === original.metadata.name);
      expect(crd?.spec, file).to.deep.equal(original.spec);
      expect(crd?.metadata.annotations).to.deep.equal({ "helm.sh/resource-policy": "keep" });
    }
    const deleted = await crdsOf({ crds: { keep: false } });
    expect(deleted.filter(({ metadata }) => metadata.annotations !== undefined)).to.deep.equal([]);
  });

  it("has a schema for exactly the values that there are", () => {
    const schema = JSON.parse(readFileSync(path.join(chartFolder, "values.schema.json"), "utf8")) as Schema;
    const values = parse(readFileSync(path.join(chartFolder, "values.yaml"), "utf8")) as object;
    const differences = (part: Schema, value: unknown, at: string): string[] => {
      const target =
        part.$ref === undefined ? part : schema.definitions?.[part.$ref.replace("#/definitions/", "")];
      // Where any name is allowed, or none is given, there is nothing to compare.
      if (target?.properties === undefined || at === "/options") return [];
      const names = Object.keys(value as object);
      const typed = Object.keys(target.properties).filter((name) => name !== "global");
      return [
        ...names.filter((name) => !typed.includes(name)).map((name) => `${at}/${name} has no type`),
        ...typed.filter((name) => !names.includes(name)).map((name) => `${at}/${name} has no default`),
        ...Object.entries(target.properties).flatMap(([name, child]) =>
          differences(child, (value as Record<string, unknown>)[name] ?? {}, `${at}/${name}`),
        ),
      ];
    };
    // replicaCount is another name of replicas, and enabled is for charts that depend on this one.
    const optional = [
      "/enabled has no default",
      "/replicaCount has no default",
      "/resources/claims has no default",
    ];
    expect(differences(schema, values, "")).to.deep.equal(optional);
  });
});

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
}
