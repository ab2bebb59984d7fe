import type { FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import type { JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { checkFeatureFlagSource } from "./check-feature-flag-source.js";
import { fieldPathOf } from "./field-path.js";
import { reviewSource } from "./validate-feature-flag-source.js";

const sources = [{ source: "shop/flags", provider: "flagd-proxy" }];

/** `severity path`. */
function brief(spec: Partial<FeatureFlagSourceSpec>): string[] {
  return checkFeatureFlagSource({ sources, ...spec }).map(
    ({ severity, path }) => `${severity} ${fieldPathOf(path)}`,
  );
}

describe("checkFeatureFlagSource", () => {
  it("finds nothing in what works", () => {
    expect(
      brief({
        envVars: [
          { name: "A", value: "1" },
          { name: "B.c-d", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "EMPTY", value: "" },
        ],
        resources: { requests: { cpu: "20m", memory: "64Mi" }, limits: { cpu: 0.5, memory: "65536Ki" } },
        contextValues: { region: "eu=1" },
        headerToContextMappings: { "X-User": "user" },
        cors: ["*", "https://shop.example:8443"],
      }),
    ).to.deep.equal([]);
  });

  it("finds variables that Kubernetes would refuse, and names that come twice", () => {
    const envVars = [
      { name: "A=B", value: "1" },
      { name: "", value: "1" },
      { name: "C", value: "1", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "D", valueFrom: {} },
      { name: "E", value: "1" },
      { name: "E", value: "2" },
    ];
    expect(brief({ envVars })).to.deep.equal([
      "error spec.envVars[0]",
      "error spec.envVars[1]",
      "warning spec.envVars[2]",
      "error spec.envVars[3]",
      "warning spec.envVars[5].name",
    ]);
  });

  it("finds quantities that are none, and requests over their limits", () => {
    const resources = {
      limits: { cpu: "500m", memory: "64 MB" },
      requests: { cpu: 1, memory: "32Mi", "nvidia.com/gpu": "-1" },
    };
    expect(brief({ resources })).to.deep.equal([
      "error spec.resources.limits.memory",
      'error spec.resources.requests["nvidia.com/gpu"]',
      "error spec.resources.requests.cpu",
    ]);
  });

  it("finds a collector with which the sidecar would not start", () => {
    expect(brief({ otelCollectorUri: "dns:///otel.obs:4317" })).to.deep.equal([
      "error spec.otelCollectorUri",
    ]);
    expect(brief({ otelCollectorUri: "otel.obs:4317" })).to.deep.equal([]);
    const ofFlagd = { sources, otelCollectorUri: "dns:///otel.obs:4317" };
    expect(checkFeatureFlagSource(ofFlagd, { isFlagd: true })).to.deep.equal([]);
  });

  it("finds sources with which the sidecar would not start", () => {
    const wrong = [
      { source: "flags.example/f.json", provider: "http" },
      { source: "https://a.example", interval: 604_800 },
      { source: "a.example:443", provider: "grpc", selector: "größe" },
    ];
    expect(brief({ sources: [...sources, ...wrong], defaultSyncProvider: "http" })).to.deep.equal([
      "error spec.sources[1]",
      "error spec.sources[2]",
      "error spec.sources[3]",
    ]);
  });

  it("finds sources that come twice, tokens that anybody may read, and arguments without effect", () => {
    const twice = [
      ...sources,
      { source: "https://a.example", provider: "http", httpSyncBearerToken: "x" },
      ...sources,
    ];
    expect(brief({ sources: twice, syncProviderArgs: ["a=b"] })).to.deep.equal([
      "warning spec.sources[1].httpSyncBearerToken",
      "warning spec.sources[2]",
      "warning spec.syncProviderArgs",
    ]);
  });

  it("says of arguments of providers that the sidecar is started without them", () => {
    const [finding] = checkFeatureFlagSource({ sources, syncProviderArgs: ["a=b"] });
    expect(finding?.message).to.contain("left out");
  });

  it("finds more sources than a program can be started with", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ source: `shop/flags-${i}`, provider: "flagd-proxy" }));
    expect(brief({ sources: many(1_000) })).to.deep.equal([]);
    expect(brief({ sources: many(10_000) })).to.deep.equal(["error spec.sources"]);
  });

  it("finds keys, headers and origins that can't be meant", () => {
    expect(
      brief({
        contextValues: { "a=b": "c", "a,b": "c" },
        headerToContextMappings: { "X User": "user" },
        cors: ["shop.example", "https://shop.example/path"],
      }),
    ).to.deep.equal([
      'error spec.contextValues["a=b"]',
      'error spec.contextValues["a,b"]',
      'error spec.headerToContextMappings["X User"]',
      "warning spec.cors[0]",
      "warning spec.cors[1]",
    ]);
  });
});

describe("reviewSource", () => {
  const review = (spec: JsonValue, oldSpec?: JsonValue) =>
    reviewSource({
      uid: "1",
      kind: { group: "core.openfeature.dev", version: "v1beta1", kind: "FeatureFlagSource" },
      operation: oldSpec === undefined ? "CREATE" : "UPDATE",
      namespace: "shop",
      subResource: "",
      dryRun: false,
      object: { spec },
      oldObject: oldSpec === undefined ? undefined : { spec: oldSpec },
    });
  const good: JsonObject = { sources };
  const bad: JsonObject = { sources, envVars: [{ name: "A=B", value: "1" }] };

  it("refuses what is new and wrong, and lets what was wrong before be edited", () => {
    expect(review(good)).to.deep.equal({ isAllowed: true, warnings: [] });
    expect(review(bad).isAllowed).to.equal(false);
    expect(review(bad).refusal?.causes?.[0]?.field).to.equal("spec.envVars[0]");
    expect(review(bad, good).isAllowed).to.equal(false);
    expect(review({ sources, envVarPrefix: "A=" }).refusal?.causes?.[0]?.field).to.equal("spec.envVarPrefix");
    expect(review({ ...bad, port: 1 }, bad)).to.deep.include({ isAllowed: true });
    expect(review({ ...bad, port: 1 }, bad).warnings).to.have.length(1);
  });

  it("leaves the form of an object to its definition", () => {
    for (const spec of [null, 1, {}, { sources: 1 }]) expect(review(spec).isAllowed).to.equal(true);
  });
});
