import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { ApiError, type ApiObject } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { sharedCluster } from "./support/use-cluster.js";

const apiVersion = "core.openfeature.dev/v1beta1";
const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };

/** Documents that the open-feature-operator's resource type accepts; they must come back unchanged. */
const accepted: Readonly<Record<string, unknown>> = {
  "no flags": { flags: {} },
  "variants of every type": {
    flags: {
      switch: flag,
      text: { state: "ENABLED", variants: { a: "A", "": "" }, defaultVariant: "a" },
      number: {
        state: "ENABLED",
        variants: { little: 0.1, much: 1e21, none: 0, negative: -7 },
        defaultVariant: "none",
      },
      object: {
        state: "ENABLED",
        variants: { a: { nested: { deep: [1, "two", null, {}] } }, b: {} },
        defaultVariant: "a",
      },
      list: { state: "ENABLED", variants: { a: [1, 2, 3] }, defaultVariant: "a" },
      mixed: { state: "ENABLED", variants: { a: 1, b: "b", c: null, d: { e: true } }, defaultVariant: "a" },
    },
  },
  "a flag without variants": { flags: { bare: { state: "ENABLED", variants: {}, defaultVariant: "" } } },
  "a default that is none of the variants": { flags: { odd: { ...flag, defaultVariant: "elsewhere" } } },
  "a disabled flag": { flags: { resting: { ...flag, state: "DISABLED" } } },
  "targeting that no evaluator knows": {
    flags: { targeted: { ...flag, targeting: { "no such operator": [{ var: "email" }, null, 1.5, [[]]] } } },
  },
  "targeting with $ref and $evaluators": {
    flags: { targeted: { ...flag, targeting: { if: [{ $ref: "staff" }, "on", null] } } },
    $evaluators: {
      staff: { ends_with: [{ var: "email" }, "@example.com"] },
      "odd name": { nested: { anything: [true] } },
    },
  },
  "empty targeting, metadata and $evaluators": {
    flags: { empty: { ...flag, targeting: {}, metadata: {} } },
    metadata: {},
    $evaluators: {},
  },
  "metadata of flags and set": {
    flags: {
      described: { ...flag, metadata: { owner: "team", ticket: 7, beta: true, nested: { kept: ["too"] } } },
    },
    metadata: { flagSetId: "storefront", version: "v1", anything: { at: ["all"] } },
  },
  "keys of every kind": {
    flags: Object.fromEntries(
      [
        "",
        " ",
        "UPPER.lower-with_all/kinds:of@signs",
        "$evaluators",
        "with space",
        "ключ",
        "旗",
        "🚩",
        "__proto__",
        "10",
        "9",
        "a".repeat(2_000),
        'quote"and\\backslash',
        "line\nbreak",
      ].map((key) => [key, flag]),
    ),
  },
  "many flags": {
    flags: Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`flag-${index}`, flag])),
  },
  "a flag of 200 KB": { flags: { large: { ...flag, variants: { on: "x".repeat(200_000), off: "" } } } },
};

const refused: Readonly<Record<string, { readonly flagSpec: unknown; readonly says: string }>> = {
  "a flagSpec without flags": { flagSpec: {}, says: "spec.flagSpec.flags: Required value" },
  "a flag without state": {
    flagSpec: { flags: { f: { variants: {}, defaultVariant: "on" } } },
    says: "spec.flagSpec.flags.f.state: Required value",
  },
  "a flag without variants": {
    flagSpec: { flags: { f: { state: "ENABLED", defaultVariant: "on" } } },
    says: "spec.flagSpec.flags.f.variants: Required value",
  },
  "a flag without defaultVariant": {
    flagSpec: { flags: { f: { state: "ENABLED", variants: {} } } },
    says: "spec.flagSpec.flags.f.defaultVariant: Required value",
  },
  "a defaultVariant of null": {
    flagSpec: { flags: { f: { ...flag, defaultVariant: null } } },
    says: "spec.flagSpec.flags.f.defaultVariant",
  },
  "another state": {
    flagSpec: { flags: { f: { ...flag, state: "enabled" } } },
    says: 'spec.flagSpec.flags.f.state: Unsupported value: "enabled"',
  },
  "flags as a list": { flagSpec: { flags: [{ key: "f", ...flag }] }, says: "spec.flagSpec.flags" },
  "variants as a list": {
    flagSpec: { flags: { f: { ...flag, variants: [true] } } },
    says: "spec.flagSpec.flags.f.variants",
  },
  "targeting that is no object": {
    flagSpec: { flags: { f: { ...flag, targeting: "on" } } },
    says: "spec.flagSpec.flags.f.targeting",
  },
};

describe("the resource types on a real API server", () => {
  const cluster = sharedCluster();
  let namespace: string;
  before(async () => {
    namespace = await cluster().createNamespace();
  });

  const collection = (plural: string): string => `/apis/${apiVersion}/namespaces/${namespace}/${plural}`;
  const create = (kind: string, plural: string, name: string, spec: unknown): Promise<ApiObject> =>
    cluster().api.create(collection(plural), {
      apiVersion,
      kind,
      metadata: { name },
      ...(spec === undefined ? {} : { spec }),
    });

  describe("FeatureFlag", () => {
    for (const [index, [what, flagSpec]] of Object.entries(accepted).entries()) {
      it(`keeps as it is: ${what}`, async () => {
        const body = {
          apiVersion,
          kind: "FeatureFlag",
          metadata: { name: `accepted-${index}` },
          spec: { flagSpec },
        };
        await cluster().api.create(collection("featureflags"), body);
        const { text } = await cluster().api.request("GET", featureFlagPath(namespace, `accepted-${index}`));
        const { spec } = JSON.parse(text) as ApiObject;
        expect(spec).to.deep.equal({ flagSpec });
      });
    }

    it("may have no spec, and no flagSpec", async () => {
      const bare = await create("FeatureFlag", "featureflags", "bare", undefined);
      const empty = await create("FeatureFlag", "featureflags", "empty", {});
      expect([bare["spec"], empty["spec"]]).to.deep.equal([undefined, {}]);
    });

    it("drops unknown fields of a flag, as the open-feature-operator's type does", async () => {
      const flags = { f: { ...flag, comment: "gone" } };
      const created = await create("FeatureFlag", "featureflags", "pruned", {
        flagSpec: { flags, other: 1 },
        more: true,
      });
      expect(created["spec"]).to.deep.equal({ flagSpec: { flags: { f: flag } } });
    });

    for (const [index, [what, { flagSpec, says }]] of Object.entries(refused).entries()) {
      it(`is refused with ${what}`, async () => {
        const error = await failureOf(
          create("FeatureFlag", "featureflags", `refused-${index}`, { flagSpec }),
        );
        expect(error.status).to.equal(422);
        expect(error.message).to.contain(says);
      });
    }

    it("has a status of its own, which an edit of the spec does not touch", async () => {
      await create("FeatureFlag", "featureflags", "with-status", { flagSpec: { flags: {} } });
      const path = featureFlagPath(namespace, "with-status");
      const written = await cluster().api.patch(`${path}/status`, { spec: null, status: {} });
      expect(written["spec"]).to.deep.equal({ flagSpec: { flags: {} } });
      expect(written.metadata.generation).to.equal(1);
    });

    it("is listed by kubectl under its short name, with its flag set", async () => {
      await cluster().putFeatureFlag(namespace, "printed", {
        flags: {},
        metadata: { flagSetId: "storefront" },
      });
      const table = await cluster().kubectl(["get", "ff", "printed", "-n", namespace]);
      expect(table).to.match(/^printed\s+storefront\s/m);
    });
  });

  describe("FeatureFlagSource", () => {
    const sources = [{ source: "default/flags", provider: "flagd-proxy" }];
    const tryCreate = (name: string, spec: unknown): Promise<ApiObject> =>
      create("FeatureFlagSource", "featureflagsources", name, spec);

    it("gets the defaults of the open-feature-operator", async () => {
      const { spec } = await tryCreate("defaults", { sources });
      expect(spec).to.deep.equal({
        sources,
        port: 8013,
        managementPort: 8014,
        ofrepPort: 8016,
        evaluator: "json",
        logFormat: "json",
        envVarPrefix: "FLAGD",
        rolloutOnChange: false,
        probesEnabled: true,
        debugLogging: false,
      });
    });

    it("keeps every field", async () => {
      const full = {
        sources: [
          {
            source: "grpc.example:8015",
            provider: "grpc",
            httpSyncBearerToken: "t",
            tls: true,
            certPath: "/certificate",
            providerID: "id",
            selector: "flagSetId=a",
            interval: 4_000_000,
          },
          { source: "Anything, without a provider of its own" },
          {
            source: "https://flags.example/f.json",
            provider: "http",
            credentialsSecretRef: { name: "flags.api", key: "token-1" },
          },
        ],
        // 0 means "not set" where sources are merged.
        port: 0,
        managementPort: 65_535,
        ofrepPort: 1,
        socketPath: "/socket",
        evaluator: "json",
        envVars: [
          { name: "PLAIN", value: "v" },
          { name: "MAP", valueFrom: { configMapKeyRef: { name: "map", key: "k", optional: true } } },
          { name: "SECRET", valueFrom: { secretKeyRef: { name: "secret", key: "k" } } },
          { name: "FIELD", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
          {
            name: "LIMIT",
            valueFrom: { resourceFieldRef: { containerName: "c", resource: "limits.cpu", divisor: "1m" } },
          },
          { name: "ODD name", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: 1 } } },
          { name: "PLAIN", value: "twice" },
        ],
        syncProviderArgs: ["key=value", "no pair"],
        defaultSyncProvider: "none that is known",
        logFormat: "console",
        envVarPrefix: "",
        rolloutOnChange: true,
        probesEnabled: false,
        debugLogging: true,
        otelCollectorUri: "collector:4317",
        resources: {
          limits: { cpu: "500m", memory: 67_108_864, "vendor.example/device": "1" },
          requests: { cpu: "0.2", memory: "32Mi" },
          claims: [{ name: "claim", request: "one" }],
        },
        contextValues: { region: "north" },
        headerToContextMappings: { "X-User": "targetingKey" },
        cors: ["*"],
        keepAliveMinTime: "1m30.5s",
        keepAlivePermitWithoutStream: false,
      };
      expect((await tryCreate("full", full))["spec"]).to.deep.equal(full);
    });

    it("keeps sources of every provider", async () => {
      const every = [
        { source: "limits", provider: "kubernetes" },
        { source: "team/limits.v2", provider: "flagd-proxy" },
        { source: "a/b", provider: "file" },
        { source: "https://flags.example/f.json", provider: "http" },
        { source: "gs://bucket/f.json", provider: "gcs" },
        { source: "azblob://container/f.json", provider: "azblob" },
        { source: "s3://bucket/f.json", provider: "s3" },
        { source: "team/limits", provider: "" },
      ];
      const created = await tryCreate("providers", { sources: every });
      expect(created["spec"]).to.have.deep.property("sources", every);
    });

    it("lets one port be taken twice where a socket takes its place", async () => {
      const socketPath = "/run/openfeature/flagd.sock";
      const { spec } = await tryCreate("socket", { sources, port: 8014, socketPath });
      expect(spec).to.include({ port: 8014, managementPort: 8014, socketPath });
    });

    for (const [what, spec, says] of [
      ["no sources", {}, "spec.sources: Required value"],
      ["an empty list of sources", { sources: [] }, "spec.sources"],
      [
        "a source that names nothing",
        { sources: [{ provider: "file" }] },
        "spec.sources[0].source: Required value",
      ],
      [
        "a port above 65535",
        { sources, port: 65_536 },
        "spec.port: Invalid value: 65536: a port is a number",
      ],
      [
        "a negative port",
        { sources, managementPort: -1 },
        "spec.managementPort: Invalid value: -1: a port is a number",
      ],
      [
        "an OFREP port above 65535",
        { sources, ofrepPort: 80_160 },
        "spec.ofrepPort: Invalid value: 80160: a port is a number",
      ],
      [
        "a negative interval",
        { sources: [{ source: "http://example", interval: -5 }] },
        "spec.sources[0].interval: Invalid value: -5: an interval is a number of seconds",
      ],
      [
        "a source of no name and no address",
        { sources: [{ source: "" }] },
        'spec.sources[0].source: Invalid value: "": a source has a name or an address',
      ],
      [
        "another provider",
        { sources: [...sources, { source: "a/b", provider: "consul" }] },
        "spec.sources[1].provider: Invalid value: there is no such provider; write kubernetes, file,",
      ],
      [
        "credentials for a provider that sends none",
        { sources: [{ source: "a/b", provider: "flagd-proxy", credentialsSecretRef: { name: "api" } }] },
        "spec.sources[0].credentialsSecretRef: Invalid value: only the providers http and grpc send credentials",
      ],
      [
        "two tokens for one source",
        {
          sources: [
            {
              source: "https://a.example",
              provider: "http",
              httpSyncBearerToken: "t",
              credentialsSecretRef: { name: "api" },
            },
          ],
        },
        "spec.sources[0].credentialsSecretRef: Invalid value: a source has one token; leave out httpSyncBearerToken",
      ],
      [
        "a Secret outside of its directory",
        {
          sources: [
            { source: "https://a.example", provider: "http", credentialsSecretRef: { name: "../other" } },
          ],
        },
        'spec.sources[0].credentialsSecretRef.name: Invalid value: "../other": a Secret has a name of small letters',
      ],
      [
        "the servers as a token",
        {
          sources: [
            {
              source: "https://a.example",
              provider: "http",
              credentialsSecretRef: { name: "api", key: "hosts" },
            },
          ],
        },
        'spec.sources[0].credentialsSecretRef.key: Invalid value: "hosts": a key has letters',
      ],
      [
        "a source of flagd-proxy that is no FeatureFlag",
        { sources: [{ source: "grpc://a:8015", provider: "flagd-proxy" }] },
        "spec.sources[0].source: Invalid value: the provider reads a FeatureFlag; write its name, or namespace/name",
      ],
      [
        "two services on one port",
        { sources, port: 8014 },
        "spec.managementPort: Invalid value: port and managementPort must differ",
      ],
      [
        "OFREP on the port of evaluations",
        { sources, port: 8016 },
        "spec.ofrepPort: Invalid value: port and ofrepPort must differ",
      ],
      [
        "OFREP on the port of probes, though there is a socket",
        { sources, ofrepPort: 8014, socketPath: "/run/of/s" },
        "spec.ofrepPort: Invalid value: managementPort and ofrepPort must differ",
      ],
      [
        "a socket without an absolute path",
        { sources, socketPath: "flagd.sock" },
        'spec.socketPath: Invalid value: "flagd.sock": the path of a socket begins with a slash',
      ],
      [
        "an interval of pings that is none",
        { sources, keepAliveMinTime: "30" },
        'spec.keepAliveMinTime: Invalid value: "30": an interval of pings is a duration such as 30s or 1m30s',
      ],
      [
        "a quantity that is none",
        { sources, resources: { limits: { cpu: "much" } } },
        "spec.resources.limits.cpu",
      ],
      [
        "a variable without a name",
        { sources, envVars: [{ value: "v" }] },
        "spec.envVars[0].name: Required value",
      ],
    ] as const) {
      it(`is refused with ${what}`, async () => {
        const error = await failureOf(tryCreate("refused", spec));
        expect(error.status).to.equal(422);
        expect(error.message).to.contain(says);
      });
    }
  });

  describe("a status", () => {
    const condition = {
      type: "Accepted",
      status: "True",
      reason: "Valid",
      message: "It is.",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      observedGeneration: 1,
    };
    const kinds = [
      [
        "FeatureFlag",
        "featureflags",
        { flagSpec: { flags: {} } },
        {
          flags: 2,
          digest: "d",
          agents: { total: 3, current: 2, refusing: 1 },
          remote: { lastFetched: "2026-01-01T00:00:00Z", keys: 7, etag: "e" },
        },
      ],
      [
        "FeatureFlagSource",
        "featureflagsources",
        { sources: [{ source: "default/flags", provider: "flagd-proxy" }] },
        { usedBy: 4, digest: "d" },
      ],
      ["Flagd", "flagds", { featureFlagSource: "s" }, {}],
      ["InProcessConfiguration", "inprocessconfigurations", {}, {}],
    ] as const;
    for (const [kind, plural, spec, fields] of kinds)
      it(`of ${kind} keeps what the operator writes, has one condition of a type, and is no edit`, async () => {
        await create(kind, plural, "told", spec);
        const path = `${collection(plural)}/told/status`;
        const status = { ...fields, conditions: [condition] };
        const written = await cluster().api.patch(path, { status: { ...status, other: 1 } });
        expect(written["status"]).to.deep.equal(status);
        expect(written.metadata.generation).to.equal(1);
        const twice = { status: { conditions: [condition, condition] } };
        const error = await failureOf(cluster().api.patch(path, twice));
        expect(error.message).to.contain("Duplicate value");
      });

    const tables = [
      ["ff", "NAME FLAG SET FLAGS AGENTS CURRENT READY AGE"],
      ["ffs", "NAME FIRST SOURCE USED BY READY AGE"],
      ["flagds", "NAME SOURCE REPLICAS SERVICE READY AGE"],
      ["inprocessconfigurations", "NAME HOST PORT TLS READY AGE"],
    ] as const;
    for (const [type, head] of tables)
      it(`is listed by kubectl get ${type}`, async () => {
        const table = await cluster().kubectl(["get", type, "-n", namespace]);
        expect(
          table
            .split("\n")[0]
            ?.split(/\s{2,}/)
            .join(" "),
        ).to.equal(head);
      });
  });

  describe("Injection", () => {
    const path = (): string => `/apis/bunting.dev/v1alpha1/namespaces/${namespace}/injections`;

    it("keeps every field that a later operator may write", async () => {
      const spec = { format: 7, sources: { "a, b/c": { container: { anything: [1, { at: "all" }] } } } };
      const body = {
        apiVersion: "bunting.dev/v1alpha1",
        kind: "Injection",
        metadata: { name: "bunting" },
        spec,
      };
      const created = await cluster().api.create(path(), body);
      expect(created["spec"]).to.deep.equal(spec);
    });
  });

  describe("Flagd", () => {
    const tryCreate = (name: string, spec: unknown): Promise<ApiObject> =>
      create("Flagd", "flagds", name, spec);

    it("gets the defaults of the open-feature-operator", async () => {
      const { spec } = await tryCreate("defaults", {
        featureFlagSource: "source",
        gatewayApiRoutes: { parentRefs: [{ name: "gateway" }] },
      });
      expect(spec).to.deep.equal({
        featureFlagSource: "source",
        replicas: 1,
        serviceType: "ClusterIP",
        gatewayApiRoutes: {
          parentRefs: [{ name: "gateway", kind: "Gateway", group: "gateway.networking.k8s.io" }],
        },
      });
    });

    it("keeps every field", async () => {
      const full = {
        featureFlagSource: "source",
        replicas: 0,
        serviceType: "LoadBalancer",
        serviceAccountName: "account",
        serviceAnnotations: { a: "b" },
        podTemplate: {
          labels: { a: "b" },
          annotations: { a: "b" },
          nodeSelector: { a: "b" },
          affinity: { podAffinity: {} },
          tolerations: [{ key: "a", operator: "Exists" }],
          topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", labelSelector: {} }],
          resources: { limits: { memory: "1Gi" }, requests: { cpu: 1 } },
          priorityClassName: "high",
        },
        autoscaling: {
          minReplicas: 2,
          maxReplicas: 4,
          targetCPUUtilizationPercentage: 50,
          targetMemoryUtilizationPercentage: 60,
        },
        ingress: {
          enabled: true,
          annotations: { a: "b" },
          hosts: ["flags.example"],
          tls: [{ hosts: ["flags.example"], secretName: "tls" }],
          ingressClassName: "class",
          pathType: "Exact",
          flagdPath: "/flagd",
          ofrepPath: "/ofrep",
          syncPath: "/sync",
        },
        gatewayApiRoutes: {
          enabled: true,
          annotations: { a: "b" },
          hosts: ["flags.example"],
          parentRefs: [
            {
              group: "g.example",
              kind: "Kind",
              namespace: "n",
              name: "gateway",
              port: 443,
              sectionName: "https",
            },
          ],
        },
      };
      expect((await tryCreate("full", full))["spec"]).to.deep.equal(full);
    });

    for (const [what, spec, says] of [
      ["no source", {}, "spec.featureFlagSource: Required value"],
      [
        "negative replicas",
        { featureFlagSource: "s", replicas: -1 },
        "spec.replicas: Invalid value: -1: the number of replicas",
      ],
      [
        "another type of Service",
        { featureFlagSource: "s", serviceType: "Other" },
        "spec.serviceType: Unsupported value",
      ],
      [
        "an autoscaler whose least number of Pods is larger than the largest",
        { featureFlagSource: "s", autoscaling: { minReplicas: 3, maxReplicas: 2 } },
        "spec.autoscaling.minReplicas: Invalid value: minReplicas is at most maxReplicas",
      ],
      [
        "an ingress without hosts",
        { featureFlagSource: "s", ingress: {} },
        "spec.ingress.hosts: Required value",
      ],
      [
        "routes without parents",
        { featureFlagSource: "s", gatewayApiRoutes: {} },
        "spec.gatewayApiRoutes.parentRefs: Required value",
      ],
    ] as const) {
      it(`is refused with ${what}`, async () => {
        const error = await failureOf(tryCreate("refused", spec));
        expect(error.status).to.equal(422);
        expect(error.message).to.contain(says);
      });
    }
  });

  describe("InProcessConfiguration", () => {
    const tryCreate = (name: string, spec: unknown): Promise<ApiObject> =>
      create("InProcessConfiguration", "inprocessconfigurations", name, spec);

    it("gets the defaults of the open-feature-operator", async () => {
      expect((await tryCreate("defaults", {}))["spec"]).to.deep.equal({
        port: 8015,
        host: "localhost",
        tls: false,
        cache: "lru",
        cacheMaxSize: 1000,
        envVarPrefix: "FLAGD",
      });
    });

    it("keeps every field, and any port", async () => {
      const full = {
        port: 99_999,
        host: "sync.example",
        tls: true,
        cache: "disabled",
        cacheMaxSize: -1,
        envVarPrefix: "OTHER",
        socketPath: "/socket",
        offlineFlagSourcePath: "/flags.json",
        selector: "s",
        envVars: [{ name: "SECRET", valueFrom: { secretKeyRef: { name: "", key: "k" } } }],
      };
      expect((await tryCreate("full", full))["spec"]).to.deep.equal(full);
    });

    it("is refused with another cache", async () => {
      const error = await failureOf(tryCreate("refused", { cache: "mem" }));
      expect(error.status).to.equal(422);
      expect(error.message).to.contain("spec.cache");
    });
  });

  it("is described by kubectl explain", async () => {
    // The API server publishes descriptions shortly after it begins to serve a type.
    await eventually(async () => {
      const path = "featureflag.spec.flagSpec.flags.state";
      const { stdout } = await cluster().tryKubectl(["explain", path]);
      return stdout.includes("A DISABLED flag is not evaluated");
    }, "kubectl explains a field");
  });
});

async function failureOf(promise: Promise<unknown>): Promise<ApiError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}
