import type { ServerHttp2Stream } from "node:http2";
import type { FlagDocument } from "@bunting/protocol";
import { expect } from "chai";
import { AgentConnection } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { HeldFlags } from "../support/held-flags.js";
import { history, HostileSyncServer, onSubscribe, open, snapshot } from "../support/hostile-sync-server.js";
import { portOf, startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { upstreamFailures } from "../support/tiers.js";
import { brokenStreams } from "./support/broken-streams.js";
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
    expect(edge.process.output).to.match(/no memory for the newest version|MB of heap/);
    await followsEdits(subscriptions);
  });

  it("survives streams that break in any way, one after the other, and has the flags of the next", async () => {
    upstream = new HostileSyncServer((stream) => {
      const broken = brokenStreams[upstream.opened - 1];
      if (broken !== undefined) broken(stream);
      else if (open(stream).writable) onSubscribe(stream, ({ topic }) => stream.write(snapshot(topic, good)));
    });
    edge = await startProxyOn(`upstream:${await upstream.listen()}`, [], heap);
    vitals = new Vitals(edge.process.pid);
    client = new StockSyncClient(edge.sync);
    const { messages } = client.subscribe({ selector: "demo/flags" });
    expect((await messages.nextEvent("the flags", 60_000)).flags).to.have.property("f");
    expect(upstream.opened).to.be.greaterThan(brokenStreams.length);
    vitals.expectWithinContainer(maxGrowthMebibytes);
  });

  it("holds no history that is not followed by its version, however many there are", async () => {
    const keys = Array.from({ length: 4_000 }, (_, index) => `key-${index}`);
    const versions = [{ digest: Buffer.alloc(32, 3), flags: keys }];
    const topics = topicsOf(24 * 4);
    const subscriptions = await attackWith(topics, (stream, topic) => {
      for (let time = 0; time < 20; time++) stream.write(history(topic, Buffer.alloc(32, time), versions));
      stream.write(snapshot(topic, flagOf('"x"')));
    });
    await eventually(async () => (await taken()) === topics.length, "all documents");
    await isWell();
    vitals.expectGrowth({ below: 140, attack: (topics.length * 20 * 4_000 * 48) / 2 ** 20 });
    await followsEdits(subscriptions);
  });

  it("takes none that is too large, and the document all the same", async () => {
    const digest = Buffer.alloc(32, 1);
    const versions = (count: number): { digest: Buffer; flags: string[] }[] =>
      Array.from({ length: count }, () => ({ digest, flags: ["f"] }));
    const subscriptions = await attackWith(["demo/flags"], (stream, topic) => {
      stream.write(history(topic, digest, [{ digest, flags: ["x".repeat(15_000_000)] }]));
      stream.write(history(topic, digest, versions(200_000)));
      stream.write(history(topic, digest, [{ digest, flags: new Array<string>(1_000_000).fill("") }]));
      stream.write(snapshot(topic, good));
    });
    await subscriptions[0]?.messages.nextMatching(({ flags }) => "f" in flags, "the document");
    const kind = 'bunting_proxy_upstream_messages_total{kind="unknown"}';
    expect(await readMetric(edge.management, kind)).to.equal(3);
    await isWell();
  });

  for (const [what, versions] of [
    ["leaves out what has changed", [[3, []]]],
    ["names other flags than changed", [[3, ["no such flag", "other"]]]],
    ["has the same version again and again", Array.from({ length: 32 }, (_, at) => [3 + (at % 2), ["g"]])],
    [
      "names the newest version as one before it",
      [
        [3, ["g"]],
        [1, []],
        [3, []],
        [1, ["g"]],
      ],
    ],
  ] as [string, [number, string[]][]][])
    it(`gives an agent the right flags although the history ${what}`, async () => {
      const held = { f: { state: "ENABLED", variants: { old: true }, defaultVariant: "old" } };
      const ballast = Object.fromEntries(topicsOf(100).map((key) => [key, good.f]));
      const newest = { ...ballast, ...good };
      const digestOf = (flags: FlagDocument["flags"]): Buffer =>
        Buffer.from(HeldFlags.of({ flags }).digest, "hex");
      const [from, to] = [digestOf({ ...ballast, ...held }), digestOf(newest)];
      const digests: Readonly<Record<number, Buffer>> = { 1: to, 3: from };
      await attackWith(["demo/other"], (stream, topic) => {
        const all = versions.map(([name, flags]) => ({
          digest: digests[name] ?? Buffer.alloc(32, name),
          flags,
        }));
        stream.write(history(topic, to, all));
        stream.write(snapshot(topic, newest, { digest: to }));
      });
      const connection = await AgentConnection.open(portOf(edge));
      try {
        const agent = connection.stream();
        agent.subscribe("demo/flags", { digest: from });
        const delta = await agent.next("delta");
        const applied = HeldFlags.of({ flags: { ...ballast, ...held } }).apply(delta).digest;
        expect(applied, "the lie shows").not.to.equal(delta.version?.digest.toString("hex"));
        agent.nack("demo/flags", "it led elsewhere", { held: from, isDeltaMismatch: true });
        const whole = await agent.next("snapshot");
        expect(HeldFlags.ofSnapshot(whole).digest).to.equal(to.toString("hex"));
      } finally {
        connection.close();
      }
      await isWell();
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
