import { agentOptionTable } from "@bunting/agent/internal/options.js";
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

function sidecarOf(spec: FeatureFlagSourceSpec) {
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
  expect(problems).to.deep.equal([]);
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

  it("has only arguments that flagd knows", () => {
    const { args } = sidecarOf(full);
    const flags = args.filter((argument) => argument.startsWith("--"));
    expect([...new Set(flags)].sort()).to.deep.equal([...flagdFlags].sort());
  });
});
