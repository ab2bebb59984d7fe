import { expect } from "chai";
import { mergeEnvironment } from "./environment-variable.js";
import { featureFlagSourceDefaults, type FeatureFlagSourceSpec } from "./feature-flag-source.js";
import { mergeInProcessConfigurations } from "./in-process-configuration.js";
import { mergeFeatureFlagSources } from "./merge-feature-flag-sources.js";

const a = { name: "A", value: "1" };
const b = { name: "B", value: "2" };

describe("mergeEnvironment", () => {
  it("keeps the last of a name, and reverses the order if anything overrides", () => {
    expect(mergeEnvironment([a, b], [{ name: "A", value: "3" }])).to.deep.equal([
      { name: "A", value: "3" },
      b,
    ]);
    expect(mergeEnvironment([], [a, b])).to.deep.equal([b, a]);
    expect(mergeEnvironment([a, b], [])).to.deep.equal([a, b]);
  });
});

describe("mergeFeatureFlagSources", () => {
  const base: FeatureFlagSourceSpec = {
    sources: [{ source: "team/a" }],
    port: 1,
    socketPath: "/a.sock",
    envVars: [a],
    syncProviderArgs: ["x=1", "y=2"],
    probesEnabled: true,
    resources: { limits: { cpu: "1", memory: "1Gi" } },
    contextValues: { region: "eu", stage: "test" },
    headerToContextMappings: { "x-user": "user" },
    cors: ["https://a.example"],
  };

  it("appends sources, and lets other fields override", () => {
    const merged = mergeFeatureFlagSources(base, {
      sources: [{ source: "team/b" }],
      port: 2,
      socketPath: "/b.sock",
      logFormat: "console",
      cors: ["https://b.example"],
    });
    expect(merged.sources).to.deep.equal([{ source: "team/a" }, { source: "team/b" }]);
    expect(merged).to.include({ port: 2, socketPath: "/b.sock", logFormat: "console" });
    expect(merged.cors).to.deep.equal(["https://b.example"]);
  });

  it("keeps what is overridden by nothing, zero or an empty value", () => {
    expect(
      mergeFeatureFlagSources(base, { sources: [], port: 0, socketPath: "", cors: [], contextValues: {} }),
    ).to.deep.equal(base);
  });

  it("lets a switch override with false, and not if it is absent", () => {
    const off = { sources: [], probesEnabled: false, keepAlivePermitWithoutStream: false };
    const merged = mergeFeatureFlagSources({ ...base, keepAlivePermitWithoutStream: true }, off);
    expect(merged).to.include({ probesEnabled: false, keepAlivePermitWithoutStream: false });
    expect(mergeFeatureFlagSources(base, { sources: [] })).to.include({ probesEnabled: true });
  });

  it("merges maps by key, and appends arguments once", () => {
    const merged = mergeFeatureFlagSources(base, {
      sources: [],
      envVars: [b],
      syncProviderArgs: ["y=2", "z=3"],
      resources: { limits: { cpu: "2" }, requests: { cpu: "0.1" } },
      contextValues: { region: "us" },
      headerToContextMappings: { "x-team": "team" },
    });
    expect(merged.envVars).to.deep.equal([b, a]);
    expect(merged.syncProviderArgs).to.deep.equal(["x=1", "y=2", "z=3"]);
    expect(merged.resources).to.deep.equal({
      limits: { cpu: "2", memory: "1Gi" },
      requests: { cpu: "0.1" },
    });
    expect(merged.contextValues).to.deep.equal({ region: "us", stage: "test" });
    expect(merged.headerToContextMappings).to.deep.equal({ "x-user": "user", "x-team": "team" });
  });

  it("lets the defaults of the second win over what the first says, as in the open-feature-operator", () => {
    expect(mergeFeatureFlagSources(base, { ...featureFlagSourceDefaults, sources: [] }).port).to.equal(8013);
  });
});

describe("mergeInProcessConfigurations", () => {
  const base = {
    port: 1,
    host: "proxy",
    tls: true,
    cache: "disabled",
    cacheMaxSize: 5,
    selector: "a",
  } as const;

  it("lets fields override unless they have their defaults", () => {
    const other = { port: 2, host: "other", cacheMaxSize: 7, envVarPrefix: "X", selector: "b" };
    expect(mergeInProcessConfigurations(base, other)).to.deep.equal({ ...base, ...other });
    const defaults = { port: 8015, host: "localhost", tls: false, cache: "lru", cacheMaxSize: 1000 } as const;
    expect(mergeInProcessConfigurations(base, { ...defaults, selector: "" })).to.deep.equal(base);
  });

  it("merges environment variables as those of sidecars", () => {
    const { envVars } = mergeInProcessConfigurations({}, { envVars: [a, b] });
    expect(envVars).to.deep.equal([b, a]);
    expect(mergeInProcessConfigurations({ envVars: [a] }, { envVars: [] }).envVars).to.deep.equal([a]);
  });
});
