import type { TransportStream } from "@bunting/rpc";
import { createLogger, readOptions } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { RecordedParts } from "@bunting/test/support/recorded-parts.js";
import { expect } from "chai";
import { createAgent } from "./agent.js";
import { agentOptionTable, type AgentOptions } from "./options.js";
import { HeapBudget } from "./store/heap-budget.js";
import * as agentParts from "./wiring/agent-parts.js";
import type { AgentParts } from "./wiring/agent-wiring.js";

type Made = RecordedParts<AgentParts>;

/** Where an option goes. */
interface Row {
  /** Another value than the default. */
  readonly value: unknown;
  /** Options without which this one is refused, or has no effect. */
  readonly with?: Partial<AgentOptions>;
  /** What the part that the option is for is given. */
  readonly reaches: (made: Made) => unknown;
  /** What that is, where it is not the value itself. */
  readonly as?: unknown;
}

type ServingName = "management" | "ofrep" | "sync" | "evaluation";
const serving = (made: Made, name: ServingName) =>
  made.one("servingComponent", ({ given: [options] }) => options.name === name).given[0];
/** The options of the port of that name. */
const portOf = (made: Made, name: ServingName) => {
  const { port } = serving(made, name);
  return made.one("PortListener", (use) => use.made === port).given[0];
};
const applications = ["evaluation", "sync", "ofrep"] as const;
const everyPort = [...applications, "management"] as const;
const collector = (made: Made) => made.one("Telemetry").given[0].collector;
const credentials = (made: Made) => made.one("parseSources").given[0].credentials;
const sources = (made: Made) => made.one("createSources").given[1];

const proxy: Partial<AgentOptions> = { uri: ["grpcs://proxy:8015"] };
const listed = JSON.stringify([
  { uri: "proxy:8015", provider: "grpc", selector: "core.openfeature.dev/shop/f" },
]);
const otel: Partial<AgentOptions> = { otelCollectorUri: "collector:4317" };
const sse: Partial<AgentOptions> = { ofrepSseEnabled: true };
const onSocket: Partial<AgentOptions> = { socketPath: "/a.sock" };

const rows: { readonly [Name in keyof AgentOptions]: Row | "read before" | "ignored" } = {
  port: { value: 4711, reaches: (made) => portOf(made, "evaluation").endpoint, as: { port: 4711 } },
  managementPort: { value: 4711, reaches: (made) => portOf(made, "management").endpoint, as: { port: 4711 } },
  syncPort: { value: 4711, reaches: (made) => portOf(made, "sync").endpoint, as: { port: 4711 } },
  ofrepPort: { value: 4711, reaches: (made) => portOf(made, "ofrep").endpoint, as: { port: 4711 } },
  socketPath: {
    value: "/a.sock",
    reaches: (made) => portOf(made, "evaluation").endpoint,
    as: { socketPath: "/a.sock", mode: 0o666, uid: -1, gid: -1 },
  },
  syncSocketPath: {
    value: "/a.sock",
    reaches: (made) => portOf(made, "sync").endpoint,
    as: { socketPath: "/a.sock", mode: 0o666, uid: -1, gid: -1 },
  },
  socketMode: {
    value: 0o660,
    with: onSocket,
    reaches: (made) => portOf(made, "evaluation").endpoint,
    as: { socketPath: "/a.sock", mode: 0o660, uid: -1, gid: -1 },
  },
  socketUid: {
    value: 4711,
    with: onSocket,
    reaches: (made) => portOf(made, "evaluation").endpoint,
    as: { socketPath: "/a.sock", mode: 0o666, uid: 4711, gid: -1 },
  },
  socketGid: {
    value: 4711,
    with: onSocket,
    reaches: (made) => portOf(made, "evaluation").endpoint,
    as: { socketPath: "/a.sock", mode: 0o666, uid: -1, gid: 4711 },
  },
  host: {
    value: "::1",
    reaches: (made) => everyPort.map((name) => portOf(made, name).endpoint),
    as: [8013, 8015, 8016, 8014].map((port) => ({ port, host: "::1" })),
  },
  uri: {
    value: ["file:/other.json"],
    reaches: (made) => made.one("createSources").given[0].map(({ uri }) => uri),
    as: ["/other.json"],
  },
  sources: {
    value: '[{"uri":"/other.json","provider":"file"}]',
    with: { uri: [] },
    reaches: (made) => made.one("createSources").given[0].map(({ uri }) => uri),
    as: ["/other.json"],
  },
  remoteHosts: {
    value: ["flags.example.com"],
    reaches: (made) => made.one("parseSources").given[0].remoteHosts,
  },
  tokenFile: { value: "/token", with: proxy, reaches: (made) => credentials(made)?.tokenFile },
  caFile: { value: "/ca.crt", with: proxy, reaches: (made) => credentials(made)?.caFile },
  clientCertFile: {
    value: "/c.crt",
    with: { ...proxy, clientKeyFile: "/c.key" },
    reaches: (made) => credentials(made)?.clientCertFile,
  },
  clientKeyFile: {
    value: "/c.key",
    with: { ...proxy, clientCertFile: "/c.crt" },
    reaches: (made) => credentials(made)?.clientKeyFile,
  },
  tokenOverPlaintext: {
    value: true,
    with: { uri: ["grpc://proxy:8015"], tokenFile: "/token" },
    reaches: (made) => credentials(made)?.tokenOverPlaintext,
  },
  instance: { value: "checkout-0", reaches: (made) => sources(made).pod?.instance },
  sourceList: {
    value: "shop/a@f0:0:0",
    with: { uri: [], sources: listed },
    reaches: (made) => sources(made).sourceList?.list.text,
    as: "a",
  },
  cacheDir: { value: "/cache", reaches: (made) => made.one("LastKnownGood").given[0].directory },
  staleAfter: { value: 4711, reaches: (made) => made.one("SourceFreshness").given[0].staleAfterMs },
  startWait: { value: 4711, reaches: (made) => made.one("StartLimits").given[0].startWaitMs },
  readyAfter: { value: 4711, reaches: (made) => made.one("StartLimits").given[0].readyAfterMs },
  serviceAccountDirectory: { value: "/sa", reaches: (made) => sources(made).pod?.serviceAccountDirectory },
  deletionPolicy: { value: "empty", reaches: (made) => sources(made).deletion?.policy },
  deletionGrace: { value: 4711, reaches: (made) => sources(made).deletion?.graceMs },
  syncProviderArgs: "ignored",
  contextValue: {
    value: { tier: "gold" },
    reaches: (made) => [
      made.one("createContextEnrichment").given[0].contextValues,
      made.one("SyncService").given[0].metadata.contextValues,
    ],
    as: [{ tier: "gold" }, { tier: "gold" }],
  },
  contextFromHeader: {
    value: { "x-user": "user" },
    reaches: (made) => [
      made.one("createContextEnrichment").given[0].contextFromHeader,
      made.one("wholeOfrepRequests").given[0].contextHeaders,
    ],
    as: [{ "x-user": "user" }, ["x-user"]],
  },
  ofrepSseEnabled: {
    value: true,
    reaches: (made) => made.one("createOfrepListener").given[0].sse?.streams === made.one("SseStreams").made,
  },
  ofrepSseInactivityDelay: {
    value: 4711,
    with: sse,
    reaches: (made) => made.one("createOfrepListener").given[0].sse?.inactivityDelaySec,
  },
  ofrepSsePublicUrl: {
    value: "https://flags.example.com",
    with: sse,
    reaches: (made) => made.one("createOfrepListener").given[0].sse?.publicUrl,
  },
  recentChanges: {
    value: 4711,
    with: sse,
    reaches: (made) =>
      (["EventStreams", "SseStreams"] as const).map((name) => made.one(name).given[0].recentMs),
    as: [4711, 4711],
  },
  streamDeadline: {
    value: 4711,
    with: sse,
    reaches: (made) =>
      (["EventStreams", "SseStreams", "SyncService"] as const).map(
        (name) => made.one(name).given[0].streamDeadlineMs,
      ),
    as: [4711, 4711, 4711],
  },
  syncHttpEnabled: {
    value: true,
    reaches: (made) => portOf(made, "sync").http === made.one("syncHttp").made.listener,
  },
  disableSyncMetadata: {
    value: true,
    reaches: (made) => made.one("SyncService").given[0].metadata.isDisabled,
  },
  peerMemory: {
    value: 2 ** 28,
    reaches: (made) => applications.map((name) => portOf(made, name).memory?.budgetBytes),
    as: [2 ** 28, 2 ** 28, 2 ** 28],
  },
  maxRequestBody: {
    value: 4711,
    with: { syncHttpEnabled: true },
    reaches: (made) => [
      ...made.all("GrpcServer").map(({ given: [options] }) => options.messages?.maxMessageBytes),
      ...(["createConnectListener", "createOfrepListener", "wholeOfrepRequests"] as const).map(
        (name) => made.one(name).given[0].web.maxRequestBodyBytes,
      ),
    ],
    as: [4711, 4711, 4711, 4711, 4711, 4711],
  },
  maxRequestHeader: {
    value: 4711,
    reaches: (made) => everyPort.map((name) => portOf(made, name).limits?.maxHeaderBytes),
    as: [4711, 4711, 4711, 4711],
  },
  keepAliveMinTime: "ignored",
  keepAlivePermitWithoutStream: "ignored",
  serverCertPath: {
    value: "/tls.crt",
    with: { serverKeyPath: "/tls.key" },
    reaches: (made) => made.one("serverTls").given[0].serverCertPath,
  },
  serverKeyPath: {
    value: "/tls.key",
    with: { serverCertPath: "/tls.crt" },
    reaches: (made) => made.one("serverTls").given[0].serverKeyPath,
  },
  authTokenFile: { value: "/tokens", reaches: (made) => made.one("callerTokens").given[0].authTokenFile },
  corsOrigin: {
    value: ["https://example.com"],
    reaches: (made) => made.one("createCors").given[0],
  },
  metricsExporter: { value: "otel", with: otel, reaches: (made) => collector(made)?.sendsMetrics, as: true },
  otelCollectorUri: { value: "collector:4317", reaches: (made) => collector(made)?.uri },
  otelProtocol: { value: "http/protobuf", with: otel, reaches: (made) => collector(made)?.protocol },
  otelCertPath: {
    value: "/c.crt",
    with: { ...otel, otelKeyPath: "/c.key" },
    reaches: (made) => collector(made)?.files.cert,
  },
  otelKeyPath: {
    value: "/c.key",
    with: { ...otel, otelCertPath: "/c.crt" },
    reaches: (made) => collector(made)?.files.key,
  },
  otelCaPath: { value: "/ca.crt", with: otel, reaches: (made) => collector(made)?.files.ca },
  otelReloadInterval: { value: 4711, with: otel, reaches: (made) => collector(made)?.reloadIntervalMs },
  // main.ts makes the logger of them, and the file is read with the options.
  logFormat: "read before",
  debug: {
    value: true,
    reaches: (made) =>
      typeof made.one("loggedEvaluations").given[1].debug === "function" &&
      (made.one("SyncService").given[0].metrics as object) === made.one("loggedEvaluations").made,
  },
  config: "read before",
};

/** An agent whose parts work, but that opens no port when it runs. */
async function useAgent(
  changes: Partial<AgentOptions> = {},
  clock = new ManualClock(),
  onReady?: () => void,
): Promise<{ made: Made; read: Set<string> }> {
  const { options } = await readOptions(agentOptionTable, { argv: ["--uri", "file:/flags.json"], env: {} });
  const made: Made = new RecordedParts(agentParts, { runComponents: () => Promise.resolve() });
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
  await createAgent(watched, logger, clock, made.parts).run(new AbortController().signal, onReady);
  return { made, read };
}

describe("createAgent", () => {
  it("has a row here for every option, and none for another", () => {
    expect(Object.keys(rows).sort()).to.deep.equal(Object.keys(agentOptionTable).sort());
  });

  for (const [name, row] of Object.entries(rows)) {
    const spec = agentOptionTable[name as keyof AgentOptions];
    if (row === "ignored" || row === "read before")
      it(`reads no ${name}, which is ${row}`, async () => {
        expect((await useAgent()).read.has(name)).to.equal(false);
        expect("ignoredBecause" in spec).to.equal(row === "ignored");
      });
    else
      it(`gives the value of ${name} to the part that it is for`, async () => {
        expect(row.value).to.not.deep.equal(spec.default);
        const { made } = await useAgent({ ...row.with, [name]: row.value });
        expect(row.reaches(made)).to.deep.equal("as" in row ? row.as : row.value);
      });
  }

  it("starts its parts in this order, and stops them in reverse", async () => {
    const tls = { serverCertPath: "/tls.crt", serverKeyPath: "/tls.key" };
    const { made } = await useAgent({ ...tls, authTokenFile: "/tokens", syncHttpEnabled: true });
    expect(made.one("runComponents").given[0].map(({ name }) => name)).to.deep.equal([
      "start-limits",
      "tls",
      "caller-tokens",
      "management",
      "telemetry",
      "last-known-good",
      "sources",
      "awaited-sources",
      "application-ports",
      "readiness",
    ]);
    expect(made.one("stoppedTogether").given[2].map(({ name }) => name)).to.deep.equal([
      "ofrep",
      "sync-http",
      "sync",
      "evaluation",
    ]);
  });

  it("is ready once its sources have answered and its ports are open, until it stops, and tells those who watch its health", async () => {
    const { made } = await useAgent();
    const readiness = made.one("AgentReadiness").made;
    const health = made.one("ReadinessHealth").made;
    const told: unknown[] = [];
    health.onChange(() => told.push(health.statusOf("")));
    made.one("createSources").given[1].receiver.answered(0);
    const last = made.one("runComponents").given[0].at(-1);
    await last?.start(() => undefined, new AbortController().signal);
    expect(readiness.check().isReady).to.equal(true);
    await last?.stop();
    expect(readiness.check().isReady).to.equal(false);
    expect(told).to.deep.equal(["NOT_SERVING", "SERVING", "NOT_SERVING"]);
  });

  it("is ready without its sources when the time for that has come, and not ready again when they answer", async () => {
    const clock = new ManualClock();
    let timesReady = 0;
    const { made } = await useAgent({ readyAfter: 30_000 }, clock, () => timesReady++);
    const health = made.one("ReadinessHealth").made;
    const told: unknown[] = [];
    health.onChange(() => told.push(health.statusOf("")));
    const components = made.one("runComponents").given[0];
    for (const component of [components[0], components.at(-1)])
      await component?.start(() => undefined, new AbortController().signal);
    clock.advance(30_000);
    made.one("createSources").given[1].receiver.answered(0);
    expect(told).to.deep.equal(["NOT_SERVING", "SERVING", "SERVING"]);
    expect(timesReady).to.equal(1);
  });

  it("answers /healthz only when the start has waited for flags, if that is asked for", async () => {
    const { made } = await useAgent({ startWait: 5_000 });
    const { notStarted } = made.one("managementHandler").given[2] ?? {};
    expect(notStarted?.()).to.match(/^starting: waiting for the first flags of /);
    made.one("createSources").given[1].receiver.answered(0);
    expect(notStarted?.()).to.equal(undefined);
  });

  it("ends what clients have open on each port when it stops, and writes the copies of flags out", async () => {
    const { made } = await useAgent(sse);
    const ended: unknown[] = [];
    const stream = {} as TransportStream;
    const ends = (what: string, result?: Promise<void>) => (of?: TransportStream) => {
      ended.push(of === stream ? `${what} of a stream` : what);
      return result as never;
    };
    const [sync, events] = [made.one("SyncService").made, made.one("EventStreams").made];
    Object.assign(sync, { drain: ends("sync"), shutdown: ends("sync shut down") });
    Object.assign(events, {
      drain: ends("events"),
      drainHttp: ends("events over HTTP", Promise.resolve()),
      shutdown: ends("events shut down"),
    });
    Object.assign(made.one("SseStreams").made, { drain: ends("sse", Promise.resolve()) });
    Object.assign(made.one("LastKnownGood").made, { flush: ends("copies", Promise.resolve()) });
    for (const name of ["evaluation", "sync", "ofrep"] as const) {
      serving(made, name).stopping?.drain?.(stream);
      await serving(made, name).stopping?.drainHttp?.();
      serving(made, name).stopping?.onStopped?.();
    }
    await made
      .one("runComponents")
      .given[0].find(({ name }) => name === "last-known-good")
      ?.stop();
    expect(ended).to.deep.equal([
      "events of a stream",
      "events over HTTP",
      "events shut down",
      "sync of a stream",
      "sync shut down",
      "sse",
      "copies",
    ]);
  });

  it("has the ports that applications call share a memory and turns, and gives the management port its own", async () => {
    const { made } = await useAgent();
    const [{ memory, turns }, ...others] = applications.map((name) => portOf(made, name)) as [
      ReturnType<typeof portOf>,
    ];
    for (const other of others as ReturnType<typeof portOf>[]) {
      expect(other.memory).to.equal(memory);
      expect(other.turns).to.equal(turns);
    }
    expect(memory).to.not.equal(undefined);
    expect(turns).to.not.equal(undefined);
    const management = portOf(made, "management");
    expect(management.memory).to.not.equal(memory);
    expect(management.memory?.budgetBytes).to.equal((memory?.budgetBytes ?? 0) / 8);
    expect(management.turns).to.equal(undefined);
  });

  it("takes what sources need of the heap out of what flags may", async () => {
    const { made } = await useAgent({ uri: ["grpc://one:8015", "grpc://two:8015", "file:/flags.json"] });
    const { budget } = made.one("FlagStore").given[0];
    const sourcesBytes = 2 * 50_000 + 20_000;
    expect(budget.flagBytes).to.equal(new HeapBudget(undefined, sourcesBytes).flagBytes);
  });

  it("answers whole OFREP requests only where there is no token to check and no trace to go on", async () => {
    expect(portOf((await useAgent()).made, "ofrep").wholeRequests).to.not.equal(undefined);
    for (const more of [otel, { authTokenFile: "/tokens" }])
      expect(portOf((await useAgent(more)).made, "ofrep").wholeRequests).to.equal(undefined);
  });

  it("has TLS on the evaluation and sync ports, but not on a socket", async () => {
    const tls = { serverCertPath: "/tls.crt", serverKeyPath: "/tls.key" };
    const { made } = await useAgent({ ...tls, ...onSocket });
    const { termination } = made.one("serverTls").made;
    expect(termination).to.not.equal(undefined);
    expect(everyPort.map((name) => portOf(made, name).tls)).to.deep.equal([
      ...[undefined, termination],
      ...[undefined, undefined],
    ]);
  });

  it("takes 0 for no limit of bodies, and for 1 MiB of headers", async () => {
    const { made } = await useAgent({ maxRequestBody: 0, maxRequestHeader: 0 });
    for (const { given } of made.all("GrpcServer"))
      expect(given[0].messages?.maxMessageBytes).to.equal(Infinity);
    expect(portOf(made, "evaluation").limits?.maxHeaderBytes).to.equal(1024 * 1024);
  });
});
