import { agentOptionTable } from "@bunting/agent/internal/options.js";
import { endpoints } from "@bunting/agent/internal/endpoints.js";
import { collectorOf } from "@bunting/agent/internal/telemetry/collector.js";
import { parseSources } from "@bunting/agent/internal/sync/parse-sources.js";
import type { FeatureFlagSource, FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import { compileSources, type InjectionInputs } from "@bunting/operator/internal/desired/injection.js";
import { readOptions } from "@bunting/runtime";
import { expect } from "chai";

/** What `flagd start` has in 0.15, beside ours: the image of a running sidecar may be changed to flagd's, and its arguments stay. */
const flagdFlags = [
  "--management-port",
  "--port",
  "--sources",
  "--debug",
  "--metrics-exporter",
  "--otel-collector-uri",
  "--context-value",
  "--context-from-header",
  "--cors-origin",
  "--ofrep-port",
];

/** Every field that has an effect on the sidecar. */
const full: FeatureFlagSourceSpec = {
  sources: [
    { source: "limits", provider: "flagd-proxy" },
    { source: "shop/on-disk", provider: "file" },
    { source: "https://flags.example/f.json", provider: "http", httpSyncBearerToken: "t", interval: 7 },
    { source: "flags.example:443", provider: "grpc", tls: true, selector: "s", providerID: "p" },
  ],
  port: 9013,
  managementPort: 9014,
  ofrepPort: 9016,
  socketPath: "/run/openfeature/flagd.sock",
  envVars: [{ name: "MAX_REQUEST_BODY", value: "4711" }],
  syncProviderArgs: ["a=b"],
  logFormat: "json",
  debugLogging: true,
  otelCollectorUri: "collector:4317",
  contextValues: { tier: "gold, not silver", note: "a=b,c" },
  headerToContextMappings: { "x-user": "user" },
  cors: ["https://a.example"],
  keepAliveMinTime: "1m",
  keepAlivePermitWithoutStream: false,
};

function sidecarOf(spec: FeatureFlagSourceSpec, leftOut = 0) {
  const source: FeatureFlagSource = {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlagSource",
    metadata: { namespace: "shop", name: "a" },
    spec,
  };
  const inputs: InjectionInputs = {
    namespace: { name: "shop", annotations: {} },
    catalogue: {
      featureFlagSource: () => source,
      flagReaders: () => undefined,
      inProcessConfiguration: () => undefined,
    },
    rules: {
      namespace: "shop",
      crossNamespace: "consent",
      providerKubernetes: "proxy",
      proxyAddress: "flagd-proxy-svc.flags.svc.cluster.local:8015",
      defaults: {},
      inProcessDefaults: {},
    },
    settings: {
      image: "agent:1",
      resources: {},
      imagePullSecrets: [],
      applicationEnv: "connection",
      hostNetworkPods: "skip",
      proxyAccess: "secured",
    },
  };
  const { entry, problems } = compileSources("a", inputs);
  expect(problems).to.have.length(leftOut);
  const { args = [], env = [] } = entry?.container ?? {};
  return { args, env: Object.fromEntries(env.map(({ name, value }) => [name, value ?? ""])) };
}

describe("the sidecar that the operator makes", () => {
  it("starts as the agent that the source asks for", async () => {
    const { args, env } = sidecarOf(full);
    const [command, ...argv] = args;
    expect(command).to.equal("start");
    const read = { argv, env, refusesUnknownVariables: true };
    const { options, warnings } = await readOptions(agentOptionTable, read);
    expect(options).to.deep.include({
      port: 9013,
      managementPort: 9014,
      ofrepPort: 9016,
      socketPath: "/run/openfeature/flagd.sock",
      maxRequestBody: 4711,
      logFormat: "json",
      debug: true,
      metricsExporter: "otel",
      otelCollectorUri: "collector:4317",
      contextValue: { tier: "gold, not silver", note: "a=b,c" },
      contextFromHeader: { "x-user": "user" },
      corsOrigin: ["https://a.example"],
      cacheDir: "/var/cache/bunting",
      tokenFile: "/var/run/secrets/bunting/token",
      caFile: "/var/run/secrets/bunting/ca.crt",
      startWait: 5_000,
      readyAfter: 30_000,
    });
    // Ours lets clients ping at any pace.
    expect(warnings.map((warning) => warning.split(" ")[0])).to.deep.equal([
      "FLAGD_KEEP_ALIVE_MIN_TIME",
      "FLAGD_KEEP_ALIVE_PERMIT_WITHOUT_STREAM",
    ]);
    const sources = parseSources({ uris: [], sources: options.sources });
    expect(sources.map(({ provider, uri }) => `${provider} ${uri}`)).to.deep.equal([
      "grpc flagd-proxy-svc.flags.svc.cluster.local:8015",
      "file /etc/flagd/shop_on-disk/shop_on-disk.flagd.json",
      "http https://flags.example/f.json",
      "grpc flags.example:443",
    ]);
  });

  const [proxied] = full.sources;
  const http = { source: "https://a.example", provider: "http" };
  for (const [what, { sources = [], ...settings }] of [
    ["a bucket", { sources: [{ source: "s3://bucket/f.json", provider: "s3" }] }],
    ["an address without a scheme", { sources: [{ ...http, source: "a.example/f.json" }] }],
    ["an interval of a week", { sources: [{ ...http, interval: 604_800 }] }],
    ["a line break in a token", { sources: [{ ...http, httpSyncBearerToken: "t\n" }] }],
    ["no server", { sources: [{ source: "grpc://", provider: "grpc" }] }],
    ["an envoy without a service", { sources: [{ source: "envoy://a:1", provider: "grpc" }] }],
    ["a selector beyond ASCII", { sources: [{ source: "a:1", provider: "grpc", selector: "größe" }] }],
    ["a collector of another scheme", { otelCollectorUri: "dns:///otel:4317" }],
    ["a collector with a space", { otelCollectorUri: "otel :4317" }],
    ["a log format that there is not", { logFormat: "xml" }],
    ["a pace that is none", { keepAliveMinTime: "soon" }],
    ["a socket in a directory of the image", { socketPath: "/tmp/flagd.sock" }],
  ] as readonly (readonly [string, Partial<FeatureFlagSourceSpec>])[])
    it(`starts without ${what}, and serves what else there is`, async () => {
      const contextValues = { "": "a", "a,b": "c", "{": "d" };
      const spec = { ...settings, contextValues, sources: [...(proxied ? [proxied] : []), ...sources] };
      const { args, env } = sidecarOf(spec, 1);
      const { options } = await readOptions(agentOptionTable, { argv: args.slice(1), env });
      expect(parseSources({ uris: [], sources: options.sources })).to.have.length(1);
      collectorOf(options);
      endpoints(options);
    });

  it("has only arguments that flagd knows", () => {
    const { args } = sidecarOf(full);
    const flags = args.filter((argument) => argument.startsWith("--"));
    expect([...new Set(flags)].sort()).to.deep.equal([...flagdFlags].sort());
  });
});
