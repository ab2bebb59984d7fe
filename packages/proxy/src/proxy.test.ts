import type { RpcStatus, TransportSession, TransportStream } from "@bunting/rpc";
import { createLogger, readOptions } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { RecordedParts } from "@bunting/test/support/recorded-parts.js";
import { expect } from "chai";
import { proxyOptionTable, type ProxyOptions } from "./options.js";
import { createProxy } from "./proxy.js";
import * as proxyParts from "./wiring/proxy-parts.js";
import type { ProxyParts } from "./wiring/proxy-wiring.js";

type Made = RecordedParts<ProxyParts>;

/** Where an option goes. */
interface Row {
  /** Another value than the default. */
  readonly value: unknown;
  /** Options without which this one is refused, or has no effect. */
  readonly with?: Partial<ProxyOptions>;
  /** What the part that the option is for is given. */
  readonly reaches: (made: Made) => unknown;
  /** What that is, where it is not the value itself. */
  readonly as?: unknown;
}

const listenerOf = (made: Made, name: "--port" | "--management-port") =>
  made.one("PortListener", ({ given: [options] }) => options.optionName === name);
const syncPort = (made: Made) => listenerOf(made, "--port").given[0];
const managementPort = (made: Made) => listenerOf(made, "--management-port").given[0];
const topics = (made: Made) => made.one("TopicRegistry").given[0];
const quota = (made: Made) => made.one("TopicQuota").given[0];
const draining = (made: Made) => made.one("DrainingPort").given[0];

/** Options that a part is given as they are, in one object: what it does with them is tested beside it. */
function toSource(
  name: keyof Parameters<ProxyParts["createSource"]>[0],
  value: unknown,
  more?: Partial<ProxyOptions>,
): Row {
  return { value, with: more ?? {}, reaches: (made) => made.one("createSource").given[0][name] };
}
function toAccess(
  name: keyof Parameters<ProxyParts["createAccess"]>[0],
  value: unknown,
  more?: Partial<ProxyOptions>,
): Row {
  return { value, with: more ?? {}, reaches: (made) => made.one("createAccess").given[0][name] };
}
function toTls(
  name: keyof Parameters<ProxyParts["proxyTls"]>[0],
  value: unknown,
  more?: Partial<ProxyOptions>,
): Row {
  return { value, with: more ?? {}, reaches: (made) => made.one("proxyTls").given[0][name] };
}

const upstream: Partial<ProxyOptions> = { source: "upstream:proxy:8015" };
const upstreamTls: Partial<ProxyOptions> = { ...upstream, upstreamTls: true };
const backplane: Partial<ProxyOptions> = { source: "kubernetes", backplane: "redis://redis:6379" };
const backplaneTls: Partial<ProxyOptions> = { source: "kubernetes", backplane: "rediss://redis:6379" };
const sentinels: Partial<ProxyOptions> = {
  source: "kubernetes",
  backplane: "redis+sentinel://redis:26379/main",
};
const tls: Partial<ProxyOptions> = { tls: "on", tlsCertPath: "/tls.crt", tlsKeyPath: "/tls.key" };
const token: Partial<ProxyOptions> = { auth: "token" };

const rows: { readonly [Name in keyof ProxyOptions]: Row | "read before" } = {
  port: { value: 4711, reaches: (made) => syncPort(made).endpoint, as: { port: 4711 } },
  managementPort: { value: 4711, reaches: (made) => managementPort(made).endpoint, as: { port: 4711 } },
  host: {
    value: "::1",
    reaches: (made) => [syncPort, managementPort].map((of) => of(made).endpoint),
    as: [
      { port: 8015, host: "::1" },
      { port: 8016, host: "::1" },
    ],
  },
  tls: toTls("tls", "on", { tlsCertPath: "/tls.crt", tlsKeyPath: "/tls.key" }),
  tlsCertPath: toTls("tlsCertPath", "/other.crt", { ...tls, tlsCertPath: "" }),
  tlsKeyPath: toTls("tlsKeyPath", "/other.key", tls),
  tlsClientCaPath: toTls("tlsClientCaPath", "/ca.crt", { ...tls, tlsClientAuth: "require" }),
  tlsClientAuth: toTls("tlsClientAuth", "request", { ...tls, tlsClientCaPath: "/ca.crt" }),
  managementTls: toTls("managementTls", "on", tls),
  source: toSource("source", "dir:/elsewhere"),
  cacheDir: toSource("cacheDir", "/cache"),
  cacheSize: toSource("cacheSize", 4711, { cacheDir: "/cache" }),
  remoteHosts: toSource("remoteHosts", ["flags.example.com"], { source: "kubernetes" }),
  maxRemotes: toSource("maxRemotes", 7, { source: "kubernetes" }),
  topicPrefix: {
    value: "eu/",
    with: upstream,
    reaches: (made) => [
      made.one("createSource").given[0].topicPrefix,
      made.one("topicPrefixes").given[0].topicPrefix,
    ],
    as: ["eu/", "eu/"],
  },
  upstreamTls: toSource("upstreamTls", true, upstream),
  upstreamCaFile: toSource("upstreamCaFile", "/ca.crt", upstreamTls),
  upstreamClientCertFile: toSource("upstreamClientCertFile", "/c.crt", {
    ...upstreamTls,
    upstreamClientKeyFile: "/c.key",
  }),
  upstreamClientKeyFile: toSource("upstreamClientKeyFile", "/c.key", {
    ...upstreamTls,
    upstreamClientCertFile: "/c.crt",
  }),
  upstreamTokenFile: toSource("upstreamTokenFile", "/token", upstreamTls),
  upstreamTokenOverPlaintext: toSource("upstreamTokenOverPlaintext", true, {
    ...upstream,
    upstreamTokenFile: "/token",
  }),
  backplane: toSource("backplane", "redis://redis:6379", { source: "kubernetes" }),
  backplaneUserFile: toSource("backplaneUserFile", "/user", {
    ...backplane,
    backplanePasswordFile: "/password",
  }),
  backplanePasswordFile: toSource("backplanePasswordFile", "/password", backplane),
  backplaneSentinelUserFile: toSource("backplaneSentinelUserFile", "/user", {
    ...sentinels,
    backplaneSentinelPasswordFile: "/password",
  }),
  backplaneSentinelPasswordFile: toSource("backplaneSentinelPasswordFile", "/password", sentinels),
  backplaneCaFile: toSource("backplaneCaFile", "/ca.crt", backplaneTls),
  backplaneCertFile: toSource("backplaneCertFile", "/c.crt", {
    ...backplaneTls,
    backplaneTlsKeyFile: "/c.key",
  }),
  backplaneTlsKeyFile: toSource("backplaneTlsKeyFile", "/c.key", {
    ...backplaneTls,
    backplaneCertFile: "/c.crt",
  }),
  backplaneServerName: toSource("backplaneServerName", "redis.example", backplaneTls),
  backplaneKeyFile: toSource("backplaneKeyFile", "/key", backplane),
  backplaneStable: toSource("backplaneStable", 300, backplane),
  backplaneKeyPrefix: toSource("backplaneKeyPrefix", "other:", backplane),
  backplaneLease: toSource("backplaneLease", 4711, backplane),
  watchScope: toSource("watchScope", "cluster"),
  watchTimeout: toSource("watchTimeout", 4711),
  kubeconfig: {
    value: "/kubeconfig",
    reaches: (made) => [
      made.one("createSource").given[0].kubeconfig,
      made.one("createAccess").given[0].kubeconfig,
    ],
    as: ["/kubeconfig", "/kubeconfig"],
  },
  kubeContext: {
    value: "other",
    reaches: (made) => [
      made.one("createSource").given[0].kubeContext,
      made.one("createAccess").given[0].kubeContext,
    ],
    as: ["other", "other"],
  },
  serviceAccountDirectory: {
    value: "/sa",
    reaches: (made) => [
      made.one("createSource").given[0].serviceAccountDirectory,
      made.one("createAccess").given[0].serviceAccountDirectory,
    ],
    as: ["/sa", "/sa"],
  },
  allowFileSelectors: {
    value: true,
    reaches: (made) => {
      const { parseSelector } = made.one("AgentSync").given[0].subscribing;
      parseSelector("ns/a");
      return [
        made.one("createSource").given[0].allowFileSelectors,
        made.one("parseSelector").given[1].allowFileSelectors,
      ];
    },
    as: [true, true],
  },
  auth: toAccess("auth", "optional"),
  authAudience: toAccess("authAudience", "other", token),
  authIssuer: toAccess("authIssuer", ["https://issuer"], token),
  authJwksFile: toAccess("authJwksFile", "/keys", { ...token, authIssuer: ["https://issuer"] }),
  authCertificateUri: toAccess(
    "authCertificateUri",
    "spiffe://other/ns/{namespace}/sa/{serviceAccount}",
    token,
  ),
  authRecheck: toAccess("authRecheck", 4711, token),
  tokenReview: toAccess("tokenReview", true, token),
  authorize: toAccess("authorize", "all", token),
  managementAuth: {
    value: "identity",
    with: token,
    reaches: (made) => [
      made.one("createAccess").given[0].managementAuth,
      made.one("managementHandler").given[2]?.guardMetrics !== undefined,
    ],
    as: ["identity", true],
  },
  missingPolicy: { value: "fail", reaches: (made) => topics(made).missingPolicy },
  deletionGrace: { value: 4711, reaches: (made) => topics(made).deletionGraceMs },
  deletionPolicy: { value: "close", reaches: (made) => topics(made).deletionPolicy },
  topicLinger: { value: 4711, reaches: (made) => topics(made).lingerMs },
  compression: { value: "off", reaches: (made) => made.one("FlagSync").given[0].compresses, as: false },
  stallTimeout: { value: 4711, reaches: (made) => syncPort(made).stall?.timeoutMs },
  keepaliveInterval: { value: 4711, reaches: (made) => syncPort(made).keepalive?.intervalMs },
  keepaliveTimeout: { value: 4711, reaches: (made) => syncPort(made).keepalive?.timeoutMs },
  maxConnectionAge: { value: 4711, reaches: (made) => made.all("ConnectionAge")[0]?.given[0].maxAgeMs },
  firstSnapshotRate: { value: 4711, reaches: (made) => made.one("StartQueue").given[0].perSecond },
  firstSnapshotBurst: { value: 4711, reaches: (made) => made.one("StartQueue").given[0].burst },
  maxStreamsPerConnection: { value: 4711, reaches: (made) => syncPort(made).limits?.maxStreamsPerConnection },
  peerMemory: { value: 2 ** 28, reaches: (made) => syncPort(made).memory?.budgetBytes },
  maxTopicsPerConnection: { value: 4711, reaches: (made) => quota(made).perConnection },
  maxTopicsPerAddress: { value: 4711, reaches: (made) => quota(made).perAddress },
  ackTimeout: { value: 4711, reaches: (made) => made.one("AgentSync").given[0].ackTimeoutMs },
  drainDelay: {
    value: 100_000,
    reaches: (made) => [draining(made).times.delayMs, stopTimeoutMs(made)],
    as: [100_000, 111_000],
  },
  drainWindow: {
    value: 100_000,
    reaches: (made) => [draining(made).times.windowMs, stopTimeoutMs(made)],
    as: [100_000, 109_000],
  },
  status: { value: "all", reaches: (made) => made.one("ProxyStatus").given[1] },
  statusTokenFile: {
    value: "/tokens",
    reaches: (made) => made.one("CallerTokens").given[0].path,
  },
  // main.ts makes the logger of them, and the file is read with the options.
  logFormat: "read before",
  debug: "read before",
  config: "read before",
};

function stopTimeoutMs(made: Made): number {
  return made.one("runComponents").given[2].stopTimeoutMs;
}

/** A proxy whose parts work, but that opens no port when it runs. */
async function useProxy(changes: Partial<ProxyOptions> = {}): Promise<{ made: Made; read: Set<string> }> {
  const { options } = await readOptions(proxyOptionTable, { argv: ["--source", "dir:/flags"], env: {} });
  const made: Made = new RecordedParts(proxyParts, { runComponents: () => Promise.resolve() });
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
  const proxy = createProxy(watched, logger, new ManualClock(), made.parts);
  await proxy.run(new AbortController().signal);
  return { made, read };
}

describe("createProxy", () => {
  it("has a row here for every option, and none for another", () => {
    expect(Object.keys(rows)).to.have.members(Object.keys(proxyOptionTable));
  });

  for (const [name, row] of Object.entries(rows)) {
    if (row === "read before")
      it(`leaves --${name} to those who read it before`, async () => {
        expect((await useProxy()).read.has(name)).to.equal(false);
      });
    else
      it(`gives the value of ${name} to the part that it is for`, async () => {
        expect(row.value).to.not.deep.equal(proxyOptionTable[name as keyof ProxyOptions].default);
        const { made } = await useProxy({ ...row.with, [name]: row.value });
        expect(row.reaches(made)).to.deep.equal("as" in row ? row.as : row.value);
      });
  }

  it("starts its parts in this order, and stops them in reverse", async () => {
    const { made } = await useProxy({ ...tls, ...token, maxConnectionAge: 60_000 });
    expect(made.one("runComponents").given[0].map(({ name }) => name)).to.deep.equal([
      "tls",
      "management",
      "source",
      "identity",
      "token keys",
      "access",
      "topics",
      "status history",
      "connection age",
      "sync",
    ]);
  });

  it("sends the newest flags to the streams of both protocols before they end, and has calls answered, in a shutdown and for their age", async () => {
    const { made } = await useProxy({ maxConnectionAge: 60_000 });
    const goodbye: RpcStatus = { code: "UNAVAILABLE", message: "bye" };
    const drained: string[] = [];
    const paths = {
      agent: "/bunting.sync.v1.SyncService/Sync",
      provider: "/flagd.sync.v1.FlagSyncService/SyncFlags",
      call: "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
      "older call": "/sync.v1.FlagSyncService/FetchAllFlags",
      neither: "/grpc.health.v1.Health/Watch",
    };
    const streams = Object.entries(paths).map(([name, path]) => {
      const end = (): void => void drained.push(`${name} ended`);
      return { name, stream: { path, end } as unknown as TransportStream };
    });
    const drains = (name: string) => (stream: TransportStream) => {
      const isOurs = streams.some((one) => one.name === name && one.stream === stream);
      if (isOurs) drained.push(`${name} drained`);
      return isOurs;
    };
    made.one("AgentSync").made.drain = drains("agent");
    made.one("FlagSync").made.drain = drains("provider");
    expect(streams.map(({ stream }) => draining(made).drainStream(stream, goodbye))).to.deep.equal([
      ...[true, true, true, true],
      false,
    ]);
    for (const { stream } of streams) made.one("ConnectionAge").given[0].drain(stream, goodbye);
    expect(drained).to.deep.equal([
      ...["agent drained", "provider drained"],
      ...["agent drained", "provider drained", "neither ended"],
    ]);
  });

  it("measures the age of the connections of the sync port, unless they may have any", async () => {
    const session = { onClose: () => undefined } as unknown as TransportSession;
    const opened = (made: Made): void => {
      const calls = made.one("CallPacing").given[0].handler;
      made.one("GrpcServer", (use) => use.made === calls).given[0].onSession?.(session);
    };
    const { made } = await useProxy({ maxConnectionAge: 60_000 });
    const aged: TransportSession[] = [];
    made.one("ConnectionAge").made.add = (one) => void aged.push(one);
    opened(made);
    expect(aged).to.deep.equal([session]);
    const without = await useProxy();
    opened(without.made);
    expect(without.made.all("ConnectionAge")).to.deep.equal([]);
  });

  it("has all streams get their first flags at once if their rate is 0", async () => {
    const { made } = await useProxy({ firstSnapshotRate: 0 });
    expect(made.all("StartQueue")).to.deep.equal([]);
    expect(made.one("AgentSync").given[0].subscribing.startQueue).to.equal(undefined);
  });

  it("has both services share the topics, the access and the queue of first snapshots", async () => {
    const { made } = await useProxy(token);
    for (const name of ["AgentSync", "FlagSync"] as const) {
      const [given] = made.one(name).given;
      expect(given.subscribing.topics).to.equal(made.one("TopicRegistry").made);
      expect(given.subscribing.access).to.equal(made.one("createAccess").made.access);
      expect(given.subscribing.startQueue).to.equal(made.one("StartQueue").made);
    }
    expect(topics(made).source).to.equal(made.one("createSource").made);
  });

  it("gives the management port a memory and TLS of its own", async () => {
    const { made } = await useProxy({ ...tls, managementTls: "both" });
    const { sync, management } = made.one("proxyTls").made;
    expect([syncPort(made).tls, managementPort(made).tls]).to.deep.equal([sync, management]);
    expect(sync).to.not.equal(management);
    const memory = syncPort(made).memory;
    expect(managementPort(made).memory).to.not.equal(memory);
    expect(managementPort(made).memory?.budgetBytes).to.equal((memory?.budgetBytes ?? 0) / 8);
  });

  it("tells those who watch its health when its readiness changes", async () => {
    const { made } = await useProxy();
    const health = made.one("ReadinessHealth").made;
    const told: unknown[] = [];
    health.onChange(() => told.push(health.statusOf("bunting.sync.v1.SyncService")));
    made.one("ProxyReadiness").made.draining();
    expect(told).to.deep.equal(["NOT_SERVING"]);
    expect(draining(made).readiness).to.equal(made.one("ProxyReadiness").made);
  });
});
