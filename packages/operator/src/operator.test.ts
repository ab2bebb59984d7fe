import { RestClient, type ConnectedCluster } from "@bunting/kube";
import { aborted, createLogger, readOptions, type Component } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { RecordedParts } from "@bunting/test/support/recorded-parts.js";
import { expect } from "chai";
import { webhookKeySecret } from "./certificates/webhook-key-secret.js";
import type { OtherAnswerer } from "./certificates/webhook-keys.js";
import { createOperator } from "./operator.js";
import { operatorOptionTable, type OperatorOptions } from "./options.js";
import * as operatorParts from "./wiring/operator-parts.js";
import type { OperatorParts } from "./wiring/operator-wiring.js";

type Made = RecordedParts<OperatorParts>;

/** Where an option goes. */
interface Row {
  /** Another value than the default. */
  readonly value: unknown;
  /** Options without which this one has no effect. */
  readonly with?: Partial<OperatorOptions>;
  /** What the part that the option is for is given. */
  readonly reaches: (made: Made) => unknown;
  /** What that is, where it is not the value itself. */
  readonly as?: unknown;
}

const listener = (made: Made, name: string) =>
  made.all("PortListener").find(({ given: [options] }) => options.optionName === name)?.given[0];
const proxy = (made: Made) => made.one("ProxyController").given[0];
const sources = (made: Made) => made.one("ClusterSources").given[1];
const flagd = (made: Made) => made.one("FlagdController").given[0];
const admission = (made: Made) => made.one("AdmissionServer").given[0];
const paths = (made: Made) => [...made.one("AdmissionHandler").given[0].webhooks.keys()];
const certificates = (made: Made) => made.one("servingCertificates").given[0];

const keyWatch = (made: Made) =>
  made.all("SecretWatch").find(({ given: [{ name }] }) => name === webhookKeySecret.name);

/** How API servers are to call the webhooks once there is a key. */
const withKey = (made: Made) => {
  Object.defineProperty(keyWatch(made)?.made, "items", { value: [{ key: "a" }] });
  return made.one("WebhookConfigurations").given[0].source.call;
};

const toProxy = (
  value: unknown,
  reaches: (settings: ReturnType<typeof proxy>["settings"]) => unknown,
  as = value,
): Row => ({
  value,
  reaches: (made) => reaches(proxy(made).settings),
  as,
});
const toSidecar = (
  value: unknown,
  reaches: (settings: ReturnType<typeof sources>["sidecar"]) => unknown,
  as = value,
): Row => ({
  value,
  reaches: (made) => reaches(sources(made).sidecar),
  as,
});
const toSources = (
  value: unknown,
  reaches: (rules: ReturnType<typeof sources>["rules"]) => unknown,
): Row => ({
  value,
  reaches: (made) => reaches(sources(made).rules),
});
const withFlagd: Partial<OperatorOptions> = { flagd: true };
const toFlagd = (
  value: unknown,
  reaches: (settings: ReturnType<typeof flagd>["settings"]) => unknown,
  as = value,
): Row => ({
  value,
  with: withFlagd,
  reaches: (made) => reaches(flagd(made).settings),
  as,
});
const files: Partial<OperatorOptions> = { certificates: "files", webhookCertPath: "/certs" };
const toFiles = (value: unknown, name: string, as: string): Row => ({
  value,
  with: files,
  reaches: (made) => (certificates(made) as unknown as Record<string, unknown>)[name],
  as,
});

const rows: { readonly [Name in keyof OperatorOptions]: Row | "read before" | "ignored" } = {
  healthProbeBindAddress: {
    value: { port: 4711 },
    reaches: (made) => listener(made, "--health-probe-bind-address")?.endpoint,
  },
  metricsBindAddress: {
    value: { port: 4711 },
    reaches: (made) => listener(made, "--metrics-bind-address")?.endpoint,
  },
  webhookPort: { value: 4711, reaches: (made) => admission(made).endpoint, as: { port: 4711 } },
  leaderElect: { value: false, reaches: (made) => made.all("LeaderElection"), as: [] },
  takeover: { value: true, reaches: (made) => made.all("OtherOperator"), as: [] },
  namespace: {
    value: "flags",
    reaches: (made) => [
      proxy(made).settings.namespace,
      made.one("LeaderElection").given[0].claim.namespace,
      made.one("OtherOperator").given[0].namespace,
      made.one("servingCertificates").given[1].namespace,
      keyWatch(made)?.given[1].namespace,
      made.one("WebhookKeyKeeper").given[0].namespace,
      [...made.one("MissedPods").given[0].exempt].at(-1),
    ],
    as: Array(7).fill("flags"),
  },
  podName: { value: "operator-1", reaches: (made) => made.one("EventRecorder").given[0].instance },
  watchNamespaces: {
    value: ["shop", "checkout"],
    with: { providerKubernetes: "direct" },
    reaches: (made) => [
      made.one("ClusterWatches").given[0].only?.names,
      sources(made).rules.served,
      made.one("AccessController").given[0].flagReaderRole?.kind,
      made.one("SecurityController").given[0].cluster.served,
      made.one("AgentStatus").given[0].served,
      made.one("WebhookConfigurations").given[1]?.mutating,
    ],
    as: [
      ["shop", "checkout"],
      ["shop", "checkout"],
      "Role",
      ["shop", "checkout"],
      ["shop", "checkout"],
      "bunting-operator-open-feature-operator-system",
    ],
  },
  crossNamespace: toSources("deny", ({ crossNamespace }) => crossNamespace),
  providerKubernetes: toSources("direct", ({ providerKubernetes }) => providerKubernetes),
  flagReaderRole: {
    value: "readers",
    with: { providerKubernetes: "direct" },
    reaches: (made) => made.one("AccessController").given[0].flagReaderRole,
    as: { kind: "ClusterRole", name: "readers" },
  },
  proxy: { value: "always", reaches: (made) => made.one("ProxyUse").given[0] },
  proxyImage: toProxy("p", ({ image }) => image, "p:0.0.0-source"),
  proxyTag: toProxy("v7", ({ image }) => image, "ghcr.io/bunting/bunting-proxy:v7"),
  proxyReplicaCount: toProxy(4, ({ replicas }) => replicas),
  proxyPort: toProxy(4711, ({ ports }) => ports.sync),
  proxyManagementPort: toProxy(4711, ({ ports }) => ports.management),
  proxyDebugLogging: toProxy(true, ({ debugLogging }) => debugLogging),
  proxyOption: toProxy({ status: "off" }, ({ options }) => options),
  redisSecret: toProxy("redis", ({ redis }) => redis, { name: "redis", files: ["user", "password"] }),
  redisSecretFiles: {
    value: ["ca.crt"],
    with: { redisSecret: "redis" },
    reaches: (made) => proxy(made).settings.redis?.files,
  },
  proxyLinger: { value: 4711, reaches: (made) => proxy(made).lingerMs },
  proxyServiceAccount: toProxy("p", ({ pod }) => pod.serviceAccountName),
  proxyNetworkPolicy: toProxy(false, ({ hasNetworkPolicy }) => hasNetworkPolicy),
  proxySecurity: { value: "mixed", reaches: (made) => made.one("SecurityController").given[0].wanted.target },
  proxySecurityExcept: {
    value: ["shop"],
    reaches: (made) => [
      [...made.one("SecurityController").given[0].wanted.except],
      [...made.one("AuthorityMaps").given[0].except],
    ],
    as: [["shop"], ["shop"]],
  },
  clusterDomain: {
    value: "example.org",
    reaches: (made) => sources(made).rules.proxyAddress,
    as: "flagd-proxy-svc.open-feature-operator-system.svc.example.org:8015",
  },
  drift: { value: "enforce", reaches: (made) => made.one("Applier").given[0].drift },
  sidecarImage: toSidecar("a", ({ image }) => image, "a:0.0.0-source"),
  sidecarTag: toSidecar("v8", ({ image }) => image, "ghcr.io/bunting/bunting-agent:v8"),
  sidecarPort: toSources(4711, ({ defaults }) => defaults.port),
  sidecarManagementPort: toSources(4711, ({ defaults }) => defaults.managementPort),
  sidecarSocketPath: toSources("/s", ({ defaults }) => defaults.socketPath),
  sidecarEvaluator: toSources("e", ({ defaults }) => defaults.evaluator),
  sidecarProviderArgs: toSources(["a=1"], ({ defaults }) => defaults.syncProviderArgs),
  sidecarSyncProvider: toSources("flagd-proxy", ({ defaults }) => defaults.defaultSyncProvider),
  sidecarLogFormat: toSources("console", ({ defaults }) => defaults.logFormat),
  sidecarEnvVarPrefix: toSources("P", ({ defaults }) => defaults.envVarPrefix),
  sidecarProbesEnabled: toSources(false, ({ defaults }) => defaults.probesEnabled),
  sidecarCpuRequest: toSidecar("1", ({ resources }) => resources.requests?.["cpu"]),
  sidecarCpuLimit: toSidecar("1", ({ resources }) => resources.limits?.["cpu"]),
  sidecarRamRequest: toSidecar("1Mi", ({ resources }) => resources.requests?.["memory"]),
  sidecarRamLimit: toSidecar("1Mi", ({ resources }) => resources.limits?.["memory"]),
  imagePullSecrets: {
    value: ["one"],
    with: withFlagd,
    reaches: (made) => [
      proxy(made).settings.pod.imagePullSecrets,
      sources(made).sidecar.imagePullSecrets,
      flagd(made).settings.pod.imagePullSecrets,
    ],
    as: Array(3).fill(["one"]),
  },
  labels: {
    value: { a: "b" },
    with: withFlagd,
    reaches: (made) => [proxy(made).settings.pod.labels, flagd(made).settings.pod.labels],
    as: Array(2).fill({ a: "b" }),
  },
  annotations: {
    value: { a: "b" },
    with: withFlagd,
    reaches: (made) => [proxy(made).settings.pod.annotations, flagd(made).settings.pod.annotations],
    as: Array(2).fill({ a: "b" }),
  },
  hostNetworkPods: toSidecar("inject", ({ hostNetworkPods }) => hostNetworkPods),
  applicationEnv: toSidecar("stock", ({ applicationEnv }) => applicationEnv),
  inProcessHost: toSources("h", ({ inProcessDefaults }) => inProcessDefaults.host),
  inProcessPort: toSources(4711, ({ inProcessDefaults }) => inProcessDefaults.port),
  inProcessSocketPath: toSources("/s", ({ inProcessDefaults }) => inProcessDefaults.socketPath),
  inProcessTls: toSources(true, ({ inProcessDefaults }) => inProcessDefaults.tls),
  inProcessOfflineFlagSourcePath: toSources(
    "/f",
    ({ inProcessDefaults }) => inProcessDefaults.offlineFlagSourcePath,
  ),
  inProcessSelector: toSources("s", ({ inProcessDefaults }) => inProcessDefaults.selector),
  inProcessCache: toSources("disabled", ({ inProcessDefaults }) => inProcessDefaults.cache),
  inProcessCacheMaxSize: toSources(4711, ({ inProcessDefaults }) => inProcessDefaults.cacheMaxSize),
  inProcessEnvVarPrefix: toSources("P", ({ inProcessDefaults }) => inProcessDefaults.envVarPrefix),
  flagd: {
    value: true,
    reaches: (made) => [made.all("FlagdController").length, made.all("UnservedFlagds").length],
    as: [1, 0],
  },
  flagdImage: toFlagd("f", ({ image }) => image, "f:0.0.0-source"),
  flagdTag: toFlagd("v9", ({ image }) => image, "ghcr.io/bunting/bunting-agent:v9"),
  flagdPort: toFlagd(4711, ({ ports }) => ports.evaluation),
  flagdOfrepPort: toFlagd(4711, ({ ports }) => ports.ofrep),
  flagdSyncPort: toFlagd(4711, ({ ports }) => ports.sync),
  flagdManagementPort: toFlagd(4711, ({ ports }) => ports.management),
  missingSource: {
    value: "refuse",
    reaches: (made) => made.all("podWebhook").map(({ given }) => given[0].missingSource),
    as: Array(2).fill("refuse"),
  },
  podSelector: { value: "team=shop", reaches: (made) => made.one("PodStream").given[2] },
  missedPods: { value: "evict", reaches: (made) => made.one("MissedPods").given[0].policy },
  rolloutOnChange: { value: true, reaches: (made) => made.all("RolloutOnChange").length, as: 1 },
  statusAgents: {
    value: false,
    reaches: (made) => [
      proxy(made).settings.tellsAgents,
      made.all("AgentStatus"),
      made.one("FlagRollouts").given[0].proxies,
    ],
    as: [false, [], undefined],
  },
  agentRollouts: {
    value: true,
    reaches: (made) => made.all("AgentRolloutController").map(({ given }) => given[0].proxies !== undefined),
    as: [true],
  },
  inlineFlags: {
    value: true,
    reaches: (made) => [
      made.all("InlineFlagsController").length,
      made.all("workloadWebhook").length,
      paths(made).includes("/mutate-workload"),
    ],
    as: [1, 1, true],
  },
  extensions: {
    value: true,
    reaches: (made) => [
      made.all("ClusterExtensions").length,
      made.all("extendedLookup").length,
      made.all("ExtendingApplier").map(({ given }) => given[1].target),
      made.one("featureFlagWebhook").given[0].comments !== undefined,
      made.one("InjectionController").given[0].extensions !== undefined,
      // One watch for all who read namespaces.
      made.all("ClusterExtensions")[0]?.given[1] === made.all("ClusterNamespaces")[0]?.made,
      made.one("ClusterSources").given[2] === made.all("ClusterNamespaces")[0]?.made,
    ],
    as: [1, 1, ["Proxy"], true, true, true, true],
  },
  extensionHosts: {
    value: ["hooks.example.com"],
    with: { extensions: true },
    reaches: (made) => made.all("ExtensionCaller").map(({ given }) => given[0].hosts.map(({ name }) => name)),
    as: [["hooks.example.com"], ["hooks.example.com"]],
  },
  extensionTokenFile: {
    value: "/token",
    with: { extensions: true },
    reaches: (made) => made.one("extensionToken").given[0],
  },
  flagsValidation: {
    value: false,
    reaches: (made) => [paths(made), made.all("FeatureFlagStatus")],
    as: [["/mutate-v1-pod", "/mutate-v1-pod/required"], []],
  },
  certificates: {
    value: "cert-manager",
    with: { webhookCertPath: "/certs" },
    reaches: (made) => [certificates(made), withKey(made)],
    as: [{ kind: "files", certPath: "/certs/tls.crt", keyPath: "/certs/tls.key" }, { key: "a" }],
  },
  webhookCertPath: toFiles("/other", "certPath", "/other/tls.crt"),
  webhookCertName: toFiles("c", "certPath", "/certs/c"),
  webhookCertKey: toFiles("k", "keyPath", "/certs/k"),
  webhookCaName: toFiles("ca", "caPath", "/certs/ca"),
  webhookService: {
    value: "hook",
    reaches: (made) => [certificates(made), made.one("WebhookConfigurations").given[0].address],
    as: [
      {
        kind: "own",
        dnsNames: ["hook.open-feature-operator-system.svc", "hook.open-feature-operator-system"],
      },
      { service: { namespace: "open-feature-operator-system", name: "hook" } },
    ],
  },
  kubeconfig: { value: "/k", reaches: (made) => made.one("connectCluster").given[0].kubeconfig },
  kubeContext: { value: "c", reaches: (made) => made.one("connectCluster").given[0].kubeContext },
  serviceAccountDirectory: {
    value: "/sa",
    reaches: (made) => made.one("connectCluster").given[0].serviceAccountDirectory,
  },
  // main.ts makes the logger of them, and the file is read with the options.
  logFormat: "read before",
  debug: "read before",
  config: "read before",
  verbose: "ignored",
  zapDevel: "ignored",
  zapEncoder: "ignored",
  zapLogLevel: "ignored",
  zapStacktraceLevel: "ignored",
  zapTimeEncoding: "ignored",
  metricsSecure: "ignored",
  metricsCertPath: "ignored",
  metricsCertName: "ignored",
  metricsCertKey: "ignored",
  enableHttp2: "ignored",
  flagdDebugLogging: "ignored",
};

/** An operator whose parts work, but that opens no port and asks no API server when it runs. */
async function useOperator(
  changes: Partial<OperatorOptions> = {},
): Promise<{ made: Made; read: Set<string> }> {
  const { options } = await readOptions(operatorOptionTable, { argv: [], env: {}, readsConfig: false });
  const connected: ConnectedCluster = {
    server: "https://api.example",
    client: Object.create(RestClient.prototype) as RestClient,
    connections: { name: "connections", run: aborted },
  };
  const made: Made = new RecordedParts(operatorParts, {
    connectCluster: () => Promise.resolve(connected),
    runComponents: () => Promise.resolve(),
    // It would read files that there are not.
    servingCertificates: (way, parts) =>
      operatorParts.servingCertificates(way.kind === "own" ? way : { ...way, certPath: "-" }, parts),
  });
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const read = new Set<string>();
  const watched = new Proxy(
    { ...options, ...changes },
    {
      get: (target, name, receiver): unknown => {
        read.add(String(name));
        return Reflect.get(target, name, receiver);
      },
    },
  );
  const operator = await createOperator(watched, logger, new ManualClock(), made.parts);
  await operator.run(new AbortController().signal);
  return { made, read };
}

const namesOf = (components: readonly Component[]): string[] => components.map(({ name }) => name);

describe("createOperator", () => {
  it("has a row here for every option, and none for another", () => {
    expect(Object.keys(rows)).to.have.members(Object.keys(operatorOptionTable));
  });

  for (const [name, row] of Object.entries(rows)) {
    if (typeof row === "string")
      it(`does not read ${name}, which is ${row}`, async () => {
        expect((await useOperator()).read.has(name)).to.equal(false);
      });
    else
      it(`gives the value of ${name} to the part that it is for`, async () => {
        const spec = operatorOptionTable[name as keyof OperatorOptions];
        expect(row.value).to.not.deep.equal(spec.default);
        const { made } = await useOperator({ ...row.with, [name]: row.value });
        expect(row.reaches(made)).to.deep.equal("as" in row ? row.as : row.value);
      });
  }

  it("starts its parts in this order, and stops them in reverse", async () => {
    const { made } = await useOperator();
    expect(namesOf(made.one("runComponents").given[0])).to.deep.equal([
      "management port",
      "metrics port",
      "connections",
      "events",
      "watch of the key of the webhooks",
      "watch of the operator's authority",
      "certificate",
      "sources",
      "admission",
      "leader election",
    ]);
  });

  it("leads within 2 s after a leader was stopped, and within 17 s after one was killed", async () => {
    const { made } = await useOperator();
    const { timing } = made.one("LeaderElection").given[0];
    // A replica that waits looks at the Lease up to a fifth later than this.
    const looksMs = 1.2 * (timing?.retryMs ?? Infinity);
    expect(looksMs).to.be.at.most(2_000);
    expect((timing?.leaseMs ?? 15_000) + looksMs).to.be.at.most(17_000);
  });

  it("has the leader make the authority and tell API servers of it at once, and write all else only where no other operator runs", async () => {
    const { made } = await useOperator();
    await made.one("LeaderElection").given[0].lead(new AbortController().signal);
    const [, leading] = made.all("runComponents");
    expect(namesOf(leading?.given[0] ?? [])).to.deep.equal([
      "authority",
      "webhook keys",
      "webhook configurations",
      "shared work",
    ]);
  });

  it("has the leader begin in this order", async () => {
    const everything = { takeover: true, flagd: true, rolloutOnChange: true };
    const { made } = await useOperator(everything);
    await made.one("LeaderElection").given[0].lead(new AbortController().signal);
    const [, leading] = made.all("runComponents");
    expect(namesOf(leading?.given[0] ?? [])).to.deep.equal([
      "authority",
      "webhook keys",
      "webhook configurations",
      "webhook configurations of no other operator",
      "read of all sources",
      "source status controller",
      "proxy ready controller",
      "access controller",
      "injection controller",
      "missed pods",
      "watch of pods",
      "rollout on change",
      "FeatureFlag checks",
      "flagd controller",
      "watch of deployments",
      "watch of services",
      "watch of poddisruptionbudgets",
      "watch of networkpolicies",
      "proxy controller",
      "proxy security controller",
      "the token for the status of the proxy",
      "watch of the token for the status of the proxy",
      "proxy's Pods",
      "agents of FeatureFlags",
      "rollouts of FeatureFlags",
    ]);
  });

  it("has the leader make an authority and a certificate for the proxy only where that is to be secured", async () => {
    const { made } = await useOperator({ takeover: true, proxySecurity: "on" });
    await made.one("LeaderElection").given[0].lead(new AbortController().signal);
    const names = namesOf(made.all("runComponents")[1]?.given[0] ?? []);
    const from = names.indexOf("the proxy's authority");
    expect(names.slice(from, from + 5)).to.deep.equal([
      "the proxy's authority",
      "the proxy's certificate",
      "watch of the proxy's authority",
      "authority ConfigMaps",
      "proxy security controller",
    ]);
  });

  it("deploys no proxy, and compiles nothing, before it is read how far the proxy's security is", async () => {
    const { made } = await useOperator();
    expect(proxy(made).cluster.access?.()).to.equal(undefined);
    expect(sources(made).security?.podAccess).to.equal(undefined);
  });

  it("has the leader tell whoever asks for a Flagd that it serves none, unless it is to serve them", async () => {
    const { made } = await useOperator({ takeover: true });
    await made.one("LeaderElection").given[0].lead(new AbortController().signal);
    const [, leading] = made.all("runComponents");
    expect(namesOf(leading?.given[0] ?? [])).to.include("flagds that are not served");
    expect(made.all("FlagdController")).to.deep.equal([]);
  });

  it("answers webhooks by the keys that the Secret has, and is not ready without one", async () => {
    const { made } = await useOperator();
    const { keys } = made.one("AdmissionHandler").given[0];
    expect(keys()).to.deep.equal([]);
    const watched = keyWatch(made)?.made;
    Object.defineProperty(watched, "lastItems", { value: [{ key: "a" }, { key: "b" }] });
    expect(keys()).to.deep.equal(["a", "b"]);
    expect(withKey(made), "its own authority is not there yet").to.equal(undefined);
  });

  it("goes by plain paths where another operator is seen, and by a key once the work of a leader alone begins", async () => {
    const { made } = await useOperator();
    const answers: OtherAnswerer[] = [];
    const keeper = made.one("WebhookKeyKeeper").made;
    keeper.otherAnswers = (other) => void answers.push(other);
    const other = made.one("OtherOperator");
    other.given[0].onSeen("its Lease is renewed");
    expect(answers).to.deep.equal(["there"]);
    other.made.workInAbsence = (work, signal) => work(signal);
    const { signal } = new AbortController();
    await made.one("LeaderElection").given[0].lead(signal);
    const [shared] = made.all("runComponents")[1]?.given[0].slice(-1) ?? [];
    await shared?.start(() => expect.fail("it can't fail"), signal);
    const components = made.all("runComponents")[2]?.given[0] ?? [];
    const alone = components.find(({ name }) => name === "webhook configurations of no other operator");
    expect(answers, "not before it runs").to.deep.equal(["there"]);
    await alone?.start(() => expect.fail("it can't fail"), signal);
    expect(answers).to.deep.equal(["there", "gone"]);
  });

  it("listens once where probes and metrics have the same address", async () => {
    const { made } = await useOperator({ metricsBindAddress: { port: 8081 } });
    expect(made.all("PortListener").map(({ given }) => given[0].optionName)).to.not.include(
      "--metrics-bind-address",
    );
  });

  it("refuses to read a certificate from files that nobody names", async () => {
    await useOperator({ certificates: "files" }).then(
      () => expect.fail("it was made"),
      (error: unknown) => expect(error).to.have.property("code", "OPTION_INVALID"),
    );
  });
});
