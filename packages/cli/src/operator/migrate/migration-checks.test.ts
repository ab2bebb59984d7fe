import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { checkBack } from "./check-back.js";
import { checkInstallation, versionIn } from "./check-installation.js";
import { checkObjects } from "./check-objects.js";
import { checkServed } from "./check-served.js";
import type { MigrationFacts } from "./migration-facts.js";
import type { MigrationFinding } from "./migration-finding.js";
import { carriedValues } from "./stock-settings.js";
import { prunedFields, stockFields } from "./stock-fields.js";

const none: MigrationFacts = {
  operators: [],
  proxies: [],
  flags: [],
  sources: [],
  inProcess: [],
  flagds: [],
  pods: [],
  nodePods: [],
};

const briefly = (findings: readonly MigrationFinding[]): string[] =>
  findings.map(({ severity, object, message }) => `${severity} ${object}: ${message}`);

function object(
  name: string,
  spec: object = {},
  annotations: Readonly<Record<string, string>> = {},
): KubeObject {
  const slash = name.indexOf("/");
  return {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { namespace: name.slice(0, slash), name: name.slice(slash + 1), annotations },
    spec,
  };
}

function stock(image: string, annotations: Readonly<Record<string, string>> = {}): KubeObject {
  const containers = [
    { name: "kube-rbac-proxy", image: "rbac:v0.1.0" },
    { name: "manager", image },
  ];
  return object(
    "ofo/open-feature-operator-controller-manager",
    { template: { spec: { containers } } },
    annotations,
  );
}

const asking = (source: string): Record<string, string> => ({
  "openfeature.dev/enabled": "true",
  "openfeature.dev/featureflagsource": source,
});

describe("checkInstallation", () => {
  for (const [image, version] of [
    ["ghcr.io/open-feature/open-feature-operator:v0.9.4", [0, 9, 4]],
    ["registry:5000/ofo:0.9.0@sha256:00", [0, 9, 0]],
    ["ofo:v0.10.0-rc.1", [0, 10, 0]],
    ["registry:5000/ofo", undefined],
    ["ofo:latest", undefined],
  ] as const) {
    it(`reads the version of ${image}`, () => {
      expect(versionIn(image)).to.deep.equal(version);
    });
  }

  for (const [image, severity] of [
    ["ofo:v0.8.9", "blocks"],
    ["ofo:v0.9.0", "tells"],
    ["ofo:v1.0.0", "tells"],
    ["ofo:v0.10.0", "tells"],
    ["ofo:latest", "warns"],
  ] as const) {
    it(`${severity} at ${image}`, () => {
      expect(checkInstallation({ ...none, operators: [stock(image)] })[0]).to.include({ severity });
    });
  }

  it("names the release, and the values of the take-over", () => {
    const operators = [stock("ofo:v0.9.4", { "meta.helm.sh/release-name": "flags" })];
    expect(briefly(checkInstallation({ ...none, operators }))[1]).to.contain(
      "helm upgrade flags deploy/helm/bunting-operator --namespace ofo --values deploy/helm/bunting-operator/values-takeover.yaml, and your images with --set; unpack a packed chart, and name its folder (docs",
    );
  });

  it("names the namespace of the release where that is not the operator's", () => {
    const release = {
      "meta.helm.sh/release-name": "openfeature",
      "meta.helm.sh/release-namespace": "default",
    };
    const operators = [stock("ofo:v0.9.4", release)];
    expect(briefly(checkInstallation({ ...none, operators }))[1]).to.contain(
      "helm upgrade openfeature deploy/helm/bunting-operator --namespace default --values",
    );
  });

  it("says of what was taken over that it was, whatever its version", () => {
    const taken = stock("bunting-operator:0.1.0");
    const labels = { "app.kubernetes.io/part-of": "bunting" };
    const operators = [{ ...taken, metadata: { ...taken.metadata, labels } }];
    expect(briefly(checkInstallation({ ...none, operators }))).to.deep.equal([
      "tells Deployment ofo/open-feature-operator-controller-manager: it was taken over: the way back is checked with --back",
    ]);
  });

  it("is blocked by two of them, and by a proxy without the label beside one of them", () => {
    const operators = [stock("ofo:v0.9.4"), stock("ofo:v0.9.4")];
    expect(checkInstallation({ ...none, operators })[0]).to.include({ severity: "blocks" });
    const marked = object("ofo/flagd-proxy");
    const labels = { "app.kubernetes.io/managed-by": "open-feature-operator" };
    const proxies = [
      object("ofo/flagd-proxy"),
      object("other/flagd-proxy"),
      { ...marked, metadata: { ...marked.metadata, labels } },
    ];
    const found = checkInstallation({ ...none, operators: [stock("ofo:v0.9.4")], proxies });
    expect(found.filter(({ severity }) => severity === "blocks").map((one) => one.object)).to.deep.equal([
      "Deployment ofo/flagd-proxy",
    ]);
  });

  it("says that there is nothing to take over", () => {
    expect(briefly(checkInstallation(none))[0]).to.contain("it is not installed");
  });
});

describe("checkObjects", () => {
  it("says of which FeatureFlags the webhook would complain", () => {
    const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "off" };
    const flags = [object("shop/bad", { flagSpec: { flags: { a: flag } } })];
    const [first] = checkObjects({ ...none, flags });
    expect(first).to.include({ severity: "warns", object: "FeatureFlag shop/bad" });
    expect(first?.message).to.match(/default variant "off".*\(the webhook would refuse it as a new object\)/);
  });

  it("names variables that applications may read", () => {
    const sources = [object("shop/a", { envVars: [{ name: "X" }, { name: "Y" }] }), object("shop/b")];
    expect(briefly(checkObjects({ ...none, sources }))).to.have.length(1);
    expect(briefly(checkObjects({ ...none, sources }))[0])
      .to.contain("FeatureFlagSource shop/a: ")
      .and.contain("(X, Y)");
  });

  it("names the sources that only flagd reads", () => {
    const sources = [
      object("shop/a", { sources: [{ source: "s3://flags/a.json", provider: "s3" }, { source: "b" }] }),
      object("shop/b", { defaultSyncProvider: "gcs", sources: [{ source: "gs://flags/b.json" }] }),
      object("shop/c", { sources: [{ source: "https://flags.test/c.json", provider: "http" }] }),
      object("shop/d", { defaultSyncProvider: "s3", sources: [{ source: "d.json", provider: "" }] }),
      object("shop/e", { sources: [{ source: "xds:///flags", provider: "grpc" }] }),
      object("shop/f", { sources: [{ source: "f" }], otelCollectorUri: "dns:///otel:4317" }),
      object("shop/g", { sources: [{ source: "g" }], otelCollectorUri: "otel:4317" }),
    ];
    expect(briefly(checkObjects({ ...none, sources })).map((line) => line.split(",")[0])).to.deep.equal([
      "warns FeatureFlagSource shop/a: only flagd reads s3://flags/a.json",
      "warns FeatureFlagSource shop/b: only flagd reads gs://flags/b.json",
      "warns FeatureFlagSource shop/d: only flagd reads d.json",
      "warns FeatureFlagSource shop/e: only flagd reads xds:///flags",
      "warns FeatureFlagSource shop/f: only flagd sends telemetry to dns:///otel:4317",
    ]);
  });

  it("names each use over namespaces without consent once", () => {
    const sources = [
      object("platform/shared", {}, { "bunting.dev/readers": "shop" }),
      object("platform/closed"),
      object("shop/own"),
    ];
    const pods = [
      object("shop/1", {}, asking("own, platform/shared, platform/closed, platform/unknown")),
      object("shop/2", {}, asking("platform/closed")),
      object("third/3", {}, { ...asking("platform/closed"), "openfeature.dev/enabled": "false" }),
      object("other/4", {}, asking("platform/shared")),
    ];
    const found = checkObjects({ ...none, sources, pods });
    expect(
      found.map(({ object: at, message }) => `${at} ${/Pods in (\S+)/.exec(message)?.[1] ?? ""}`),
    ).to.deep.equal(["FeatureFlagSource platform/closed shop", "FeatureFlagSource platform/shared other"]);
  });

  it("counts Pods that watch FeatureFlags themselves", () => {
    const watching = { "openfeature.dev/allowkubernetessync": "true" };
    const pods = ["1", "2", "3", "4"].map((name) => object(`shop/${name}`, {}, watching));
    expect(briefly(checkObjects({ ...none, pods: [...pods, object("shop/5")] }))[0]).to.contain(
      "warns Pods: 4 watch FeatureFlags themselves (shop/1, shop/2, shop/3, …)",
    );
  });
});

describe("Pods with the network of their node", () => {
  it("are named if they ask for a sidecar, three of them", () => {
    const inProcess = {
      "openfeature.dev/enabled": "true",
      "openfeature.dev/inprocessconfiguration": "a",
    };
    const nodePods = [
      ...["1", "2", "3", "4"].map((name) => object(`shop/${name}`, {}, asking("own"))),
      object("shop/off", {}, { ...asking("own"), "openfeature.dev/enabled": "false" }),
      object("shop/in-process", {}, inProcess),
      object("shop/other"),
    ];
    expect(briefly(checkObjects({ ...none, nodePods }))).to.have.length(1);
    expect(briefly(checkObjects({ ...none, nodePods }))[0]).to.contain(
      "warns Pods: 4 ask for a sidecar, and use the network of their node (shop/1, shop/2, shop/3, …): host-network-pods: inject",
    );
    expect(checkObjects({ ...none, nodePods: nodePods.slice(4) })).to.deep.equal([]);
  });
});

describe("carriedValues", () => {
  const installed = (manager: object, pod = {}, replicas = 1): KubeObject =>
    object("ofo/manager", {
      replicas,
      template: { spec: { ...pod, containers: [{ name: "other" }, { name: "manager", ...manager }] } },
    });

  it("are none of what its chart sets by default, or is said of images", () => {
    const env = [
      { name: "SIDECAR_PORT", value: "8013" },
      { name: "SIDECAR_SOCKET_PATH", value: "" },
      { name: "SIDECAR_IMAGE", value: "registry.example/flagd" },
      { name: "POD_NAMESPACE", valueFrom: {} },
    ];
    const args = ["--leader-elect", "--sidecar-cpu-limit=500m", "--image-pull-secrets=", "--labels="];
    const ports = [{ name: "webhook-server", containerPort: 9443 }, { containerPort: 1 }];
    expect(carriedValues(installed({ env, args, ports }))).to.deep.equal([]);
    const pod = { hostNetwork: false, dnsPolicy: "ClusterFirst" };
    expect(carriedValues(installed({}, pod))).to.deep.equal([]);
  });

  it("are all others, by their names in our chart", () => {
    const env = [
      { name: "SIDECAR_PORT", value: "8113" },
      { name: "FLAGD_PROXY_REPLICA_COUNT", value: "0" },
      { name: "SIDECAR_ENV_VAR_PREFIX", value: "" },
    ];
    const args = ["--image-pull-secrets=one,two,", "--labels=team:a=b"];
    const ports = [{ name: "metrics-server", containerPort: 9080 }];
    const pod = { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" };
    expect(carriedValues(installed({ env, args, ports }, pod, 3))).to.deep.equal([
      "options.sidecar-port: 8113",
      "options.proxy-replica-count: 0",
      'options.sidecar-env-var-prefix: ""',
      "options.image-pull-secrets: one,two",
      "options.labels: team:a=b",
      "ports.metrics: 9080",
      "hostNetwork: true",
      "replicas: 3",
    ]);
    const operators = [installed({ image: "ofo:v0.9.2", env })];
    expect(briefly(checkInstallation({ ...none, operators }))[2]).to.contain(
      "name them to the upgrade as well (options.sidecar-port: 8113, options.proxy-replica-count: 0",
    );
  });
});

describe("checkServed", () => {
  const operator = (...args: readonly string[]): KubeObject =>
    object("ofo/open-feature-operator-controller-manager", {
      template: { spec: { containers: [{ name: "manager", args: ["start", ...args] }] } },
    });
  const pods = [
    object("shop/a", {}, asking("x")),
    object("team/b", {}, asking("x")),
    object("team/c", {}, asking("x")),
    object("other/d"),
  ];

  it("counts Pods that ask for flags where the operator serves nobody, on both ways", () => {
    const facts = { ...none, operators: [operator("--watch-namespaces=shop,checkout")], pods };
    const [there] = briefly(checkServed(facts, false));
    expect(there).to.match(
      /^warns Deployment ofo\/\S+: it serves shop, checkout alone, and 2 Pods in team ask for flags: they get none/,
    );
    expect(briefly(checkServed(facts, true))[0]).to.contain("gives them a sidecar, too");
  });

  it("finds nothing where all are served", () => {
    expect(checkServed({ ...none, operators: [operator()], pods }, false)).to.deep.equal([]);
    const facts = { ...none, operators: [operator("--watch-namespaces=shop,team")], pods };
    expect(checkServed(facts, true)).to.deep.equal([]);
  });
});

describe("checkBack", () => {
  it("names what only we know: fields, and annotations", () => {
    const found = checkBack({
      ...none,
      flags: [
        object("shop/a", { remoteFlagProvider: {}, flagSpec: { flags: {} } }, { "bunting.dev/readers": "x" }),
        object("shop/b", { flagSpec: { flags: {} } }),
      ],
      pods: [
        object("shop/p", {}, { "bunting.dev/injection": "required" }),
        object("shop/q", {}, { "openfeature.dev/featureflag": "a" }),
      ],
    });
    expect(briefly(found).map((line) => line.split(":")[0])).to.deep.equal([
      "blocks FeatureFlag shop/a",
      "warns FeatureFlag shop/a",
      "warns Pod shop/p",
      "warns Pod shop/q",
    ]);
    expect(found[0]?.message).to.contain("spec.remoteFlagProvider");
  });
});

describe("prunedFields", () => {
  it("finds unknown fields in objects, maps and lists, and looks into nothing that is kept whole", () => {
    expect(
      prunedFields(
        {
          sources: [{ source: "a" }, { source: "b", credentialsSecretRef: { name: "c" } }],
          resources: { anything: {} },
          podDefaults: {},
        },
        stockFields.FeatureFlagSource,
      ),
    ).to.deep.equal(["spec.sources.1.credentialsSecretRef", "spec.podDefaults"]);
    const flags = { a: { state: "ENABLED", targeting: { if: [] }, extra: 1 } };
    expect(prunedFields({ flagSpec: { flags, metadata: { x: 1 } } }, stockFields.FeatureFlag)).to.deep.equal([
      "spec.flagSpec.flags.a.extra",
    ]);
    expect(prunedFields(undefined, stockFields.Flagd)).to.deep.equal([]);
    expect(prunedFields({ toString: 1 }, stockFields.Flagd)).to.deep.equal(["spec.toString"]);
  });
});
