import { writeFileSync } from "node:fs";
import { expect } from "chai";
import { buntingSyncV1, syncV1, type TopicKey } from "@bunting/protocol";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { manifest, versionOf } from "../support/manifests.js";
import { portOf, startProxy, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { scaled } from "../support/scale.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, requestFrames } from "./support/hostile-peer.js";
import { mebibyte, Vitals, type GrowthCheck } from "./support/vitals.js";

type Request = NonNullable<buntingSyncV1.SyncRequest["message"]>;

const fetchAll = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
const syncFlags = "/flagd.sync.v1.FlagSyncService/SyncFlags";
const ends = ["--drain-delay", "0", "--drain-window", "0"];
const real = "default/flags";
/** What was held of each name before topics were bounded: of one in a directory, and of one that the API server was to be asked for. */
const topicKibibytes = 4;
const watchedTopicKibibytes = 13;
/** Lines that a peer may cause in one test; it sends thousands of requests. */
const maxLines = 60;

/** Subscribes to names that were never used before, and leaves them at once. */
function churn(from: number, count: number): Request[] {
  return Array.from({ length: count }, (_, i): Request[] => {
    const topic: TopicKey = `default/guessed-${from + i}`;
    return [
      { $case: "subscribe", value: { topic, held: undefined } },
      { $case: "unsubscribe", value: { topic } },
    ];
  }).flat();
}

/** The topics in the process, in any state. */
async function topicsOf({ management }: ProxyProcess): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  const gauges = text.matchAll(/^bunting_proxy_topic_topics\{[^}]*\} (\d+)$/gm);
  return [...gauges].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Peers that make topics of names they guess, and leave them again. */
describe("a proxy whose topics are churned", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  let vitals: Vitals;
  const cleanUps: (() => unknown)[] = [];

  async function serveDirectory(args: readonly string[] = []): Promise<void> {
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path, [...ends, ...args]);
    await warmUp(real);
    vitals = new Vitals(proxy.process.pid);
  }

  /** Everything is loaded and compiled before memory is compared. */
  async function warmUp(topic: string | undefined): Promise<void> {
    const stock = new StockSyncClient(proxy.sync);
    if (topic !== undefined) expect(versionOf(await stock.fetchAll(topic))).to.equal(1);
    stock.close();
    const agent = await openAgent();
    await agent.sendAll(churn(1_000_000, 500));
    await isHandled(agent);
  }

  async function openAgent(): Promise<AgentClientStream> {
    const connection = await AgentConnection.open(portOf(proxy));
    cleanUps.push(() => connection.close());
    return connection.stream();
  }

  /** Everything that the agent has sent was handled: a last request was answered. */
  async function isHandled(agent: AgentClientStream): Promise<void> {
    agent.subscribe("Not/AName");
    await agent.messages.nextMatching(
      ({ $case }) => $case === "topicError",
      "the answer to the last request",
    );
  }

  async function openPeer(localAddress?: string): Promise<HostilePeer> {
    const peer = await HostilePeer.connect(portOf(proxy), localAddress === undefined ? {} : { localAddress });
    cleanUps.push(() => peer.destroy());
    return peer;
  }

  /** The process is alive, small, and has said little. */
  async function isUnharmed(growth?: GrowthCheck): Promise<void> {
    if (growth !== undefined) vitals.expectGrowth(growth);
    const topics = await topicsOf(proxy);
    const lines = proxy.process.logs.length;
    const said = `${topics} topics, ${lines} lines`;
    expect(topics, said).to.be.lessThan(1_100);
    expect(lines, said).to.be.lessThan(maxLines);
  }

  beforeEach(() => {
    directory = new TempDirectory();
  });

  afterEach(async () => {
    vitals.stop();
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  it("keeps nothing of names that an agent subscribes to and leaves", async () => {
    await serveDirectory();
    const agent = await openAgent();
    const [names, warmNames] = [30_000, 8_000];
    for (let sent = 0; sent < names; sent += 1_000) {
      if (sent === warmNames) vitals.markWarm();
      await agent.sendAll(churn(sent, 1_000));
    }
    await isHandled(agent);
    await isUnharmed({ below: 48, attack: ((names - warmNames) * topicKibibytes) / 1024 });
    agent.subscribe(real);
    await agent.messages.nextMatching(({ $case }) => $case === "snapshot", "the flags");
  });

  it("keeps nothing of such names while the API server is away", async () => {
    const api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    writeFileSync(directory.file("ca.crt"), api.ca);
    writeFileSync(directory.file("token"), "a-token");
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" };
    proxy = await startProxyInPod({ directory: directory.path, environment }, ends);
    await warmUp(undefined);
    vitals = new Vitals(proxy.process.pid);
    const agent = await openAgent();
    const [names, warmNames] = [10_000, 3_000];
    for (let sent = 0; sent < names; sent += 1_000) {
      if (sent === warmNames) vitals.markWarm();
      await agent.sendAll(churn(sent, 1_000));
    }
    await isHandled(agent);
    await isUnharmed({ below: 48, attack: ((names - warmNames) * watchedTopicKibibytes) / 1024 });
  });

  for (const policy of scaled(["hold", "fail"], ["hold"])) {
    it(`keeps little of names that are fetched with a deadline of 1 ms, by the missing policy ${policy}`, async () => {
      await serveDirectory(["--missing-policy", policy]);
      const peer = await openPeer();
      for (let i = 0; i < 4_000; i++) {
        const message = syncV1.FetchAllFlagsRequest.encode({
          providerId: "",
          selector: `default/guessed-${i}`,
        });
        const id = peer.takeStreamId();
        await peer.send(
          requestFrames(id, fetchAll, { headers: { "grpc-timeout": "1m" }, message: message.finish() }),
        );
        if (i % 50 === 49) await eventually(() => peer.ended.has(id), "the end of a call");
      }
      // So few take too little memory to be told by it, and more take long, because short calls are paced.
      await isUnharmed();
      const held = (): Promise<number> =>
        readMetric(proxy.management, "bunting_proxy_service_peer_memory_bytes");
      await eventually(async () => (await held()) < mebibyte / 2, "the memory of the calls to be free again");
    });
  }

  it("refuses the topics of one connection beyond its limit, and forgets those of streams that are reset", async () => {
    await serveDirectory(["--max-topics-per-connection", "32"]);
    const peer = await openPeer();
    for (let round = 0; round < 20; round++) {
      const ids: number[] = [];
      for (let i = 0; i < 40; i++) {
        const selector = `default/guessed-${round}-${i}`;
        const message = syncV1.SyncFlagsRequest.encode({ providerId: "", selector }).finish();
        ids.push(await peer.request(syncFlags, { message }));
      }
      await eventually(() => ids.slice(32).every((id) => peer.ended.has(id)), "refusals");
      expect(ids.slice(0, 32).some((id) => peer.ended.has(id))).to.be.false;
      for (const id of ids.slice(0, 32)) await peer.reset(id);
    }
    // So few take too little memory to be told by it.
    await eventually(async () => (await topicsOf(proxy)) < 5, "the end of the topics");
    await isUnharmed();
  });
});
