import type { ServerHttp2Stream } from "node:http2";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { HostileSyncServer, onSubscribe, open, snapshot } from "../support/hostile-sync-server.js";
import { startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { upstreamFailures } from "../support/tiers.js";
import { Vitals } from "./support/vitals.js";

/** The attacks are as small as this heap allows: with 512Mi, as the chart sets it, node makes it 260 MB. */
const heap = { NODE_OPTIONS: "--max-old-space-size=96" };
/** What a container for such a heap has beside the idle process, about. */
const maxGrowthMebibytes = 240;
const liveWithinMs = 5_000;

const good = { f: { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } };
const flagOf = (value: string): string =>
  `{"flags":{"f":{"state":"ENABLED","variants":{"a":${value}},"defaultVariant":"a"}}}`;
const topicsOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `demo/t${index}`);

/** What a proxy can do to the one that it feeds. */
describe("a proxy whose upstream is hostile", () => {
  let upstream: HostileSyncServer;
  let edge: ProxyProcess;
  let client: StockSyncClient;
  let vitals: Vitals;
  /** The streams that topics are on. */
  let streams: Map<string, ServerHttp2Stream>;

  /** Subscribes to the topics at a proxy whose upstream answers each of them with `attack`. */
  async function attackWith(
    topics: readonly string[],
    attack: (stream: ServerHttp2Stream, topic: string) => void,
  ): Promise<readonly SyncSubscription[]> {
    streams = new Map();
    upstream = new HostileSyncServer((stream) => {
      open(stream);
      onSubscribe(stream, ({ topic }) => {
        streams.set(topic, stream);
        attack(stream, topic);
      });
    });
    const args = ["--max-topics-per-connection", "0", "--drain-delay", "0", "--drain-window", "0"];
    edge = await startProxyOn(`upstream:${await upstream.listen()}`, args, heap);
    vitals = new Vitals(edge.process.pid);
    client = new StockSyncClient(edge.sync);
    return topics.map((selector) => client.subscribe({ selector }));
  }

  afterEach(async () => {
    vitals.stop();
    client.close();
    upstream.stop();
    expect(await edge.process.stop(), edge.process.output.slice(-2_000)).to.equal(0);
  });

  async function isWell(): Promise<void> {
    const signal = AbortSignal.timeout(liveWithinMs);
    expect((await fetch(`${edge.management}/healthz`, { signal })).status).to.equal(200);
    vitals.expectWithinContainer(maxGrowthMebibytes);
    const warnings = edge.process.logs.filter(({ level }) => level !== "info");
    expect(warnings.length, "warnings").to.be.lessThan(60);
  }

  /** Each topic gets an edit, which reaches its subscriber. */
  async function followsEdits(subscriptions: readonly SyncSubscription[]): Promise<void> {
    for (const [topic, stream] of streams)
      stream.write(snapshot(topic, good, { resourceVersion: "2", digest: Buffer.alloc(32, 2) }));
    for (const { messages } of subscriptions)
      await messages.nextMatching(({ flags }) => flags["f"]?.defaultVariant === "on", "the edit");
  }

  const taken = (): Promise<number> =>
    readMetric(edge.management, 'bunting_proxy_upstream_messages_total{kind="snapshot"}', 0);

  for (const [what, document, refusal] of [
    ["of two million objects", flagOf(`[${"{},".repeat(2_000_000)}{}]`), "MB of heap"],
    ["nested five million levels deep", flagOf("[".repeat(5e6) + "]".repeat(5e6)), "202 levels deep"],
  ] as const)
    it(`refuses a document ${what}, and says why`, async () => {
      const subscriptions = await attackWith(["demo/flags"], (stream, topic) =>
        stream.write(snapshot(topic, document)),
      );
      await eventually(async () => (await taken()) === 1, "the document");
      await isWell();
      expect(edge.process.output).to.contain("is refused").and.to.contain(refusal);
      await followsEdits(subscriptions);
    });

  it("holds as many large documents as it has room for, and goes on with all topics when they are small", async () => {
    const topics = topicsOf(24);
    const document = flagOf(`"${"x".repeat(4_000_000)}"`);
    const subscriptions = await attackWith(topics, (stream, topic) =>
      stream.write(snapshot(topic, document)),
    );
    await eventually(async () => (await taken()) === topics.length, "all documents");
    await isWell();
    expect(edge.process.output).to.contain("MB of heap");
    await followsEdits(subscriptions);
  });

  it("holds few large messages that are not whole, whatever number of connections they come on", async () => {
    const message = Buffer.concat([Buffer.from([0, 1, 0, 0, 0]), Buffer.alloc(16_000_000)]);
    const attacked = new Set<ServerHttp2Stream>();
    await attackWith(topicsOf(24 * 14), (stream) => {
      if (!attacked.has(stream)) stream.write(message);
      attacked.add(stream);
    });
    await eventually(async () => (await upstreamFailures(edge, "internal")) > 10, "streams that end");
    await isWell();
    vitals.expectGrowth({ below: 140, attack: (14 * 16_000_000) / 2 ** 20 });
    expect(edge.process.output).to.contain("a large message while others");
  });
});
