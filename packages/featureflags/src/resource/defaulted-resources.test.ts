import { expect } from "chai";
import { defaultedFeatureFlagSource, type FeatureFlagSourceSpec } from "./feature-flag-source.js";
import { defaultedFlagd } from "./flagd.js";
import { defaultedInProcessConfiguration } from "./in-process-configuration.js";

describe("the defaults of custom resources", () => {
  it("are filled in where a FeatureFlagSource says nothing, and nowhere else", () => {
    const sources = [{ source: "team/shop" }];
    expect(defaultedFeatureFlagSource({ sources })).to.deep.equal({
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
    const spec = { sources, port: 0, probesEnabled: false, envVarPrefix: "", keepAliveMinTime: "10s" };
    expect(defaultedFeatureFlagSource(spec)).to.include(spec);
    const absent = { sources, port: null, evaluator: undefined } as unknown as FeatureFlagSourceSpec;
    expect(defaultedFeatureFlagSource(absent)).to.include({ port: 8013, evaluator: "json" });
  });

  it("are filled in where an InProcessConfiguration says nothing", () => {
    expect(defaultedInProcessConfiguration({})).to.deep.equal({
      port: 8015,
      host: "localhost",
      tls: false,
      cache: "lru",
      cacheMaxSize: 1000,
      envVarPrefix: "FLAGD",
    });
    const spec = { port: 1, host: "proxy", tls: true, cache: "disabled", cacheMaxSize: 0 } as const;
    expect(defaultedInProcessConfiguration(spec)).to.include(spec);
  });

  it("are filled in where a Flagd and its parentRefs say nothing", () => {
    expect(defaultedFlagd({ featureFlagSource: "shop" })).to.deep.equal({
      featureFlagSource: "shop",
      replicas: 1,
      serviceType: "ClusterIP",
    });
    const routes = {
      hosts: ["flags.example"],
      parentRefs: [{ name: "edge" }, { name: "mesh", kind: "Service" }],
    };
    const defaulted = defaultedFlagd({ featureFlagSource: "shop", replicas: 0, gatewayApiRoutes: routes });
    expect(defaulted.replicas).to.equal(0);
    expect(defaulted.gatewayApiRoutes).to.deep.equal({
      hosts: ["flags.example"],
      parentRefs: [
        { name: "edge", group: "gateway.networking.k8s.io", kind: "Gateway" },
        { name: "mesh", group: "gateway.networking.k8s.io", kind: "Service" },
      ],
    });
  });
});
