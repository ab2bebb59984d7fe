import { atOnce, digestingDocument, type FlagDocument, type TrialCounts } from "@bunting/protocol";
import { AgentConnection, type AgentClientStream } from "@bunting/test/support/agent-client.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";
import { expect } from "chai";
import { noMetrics } from "../../proxy-metrics.js";
import { trialCounts } from "../../topic/trial-counts.js";

const topic = "demo/flags";
const ballast = { state: "x".repeat(1_000) };
const version = (number: number): FlagDocument => ({
  flags: { ballast, f: { state: `v${number}` }, g: { state: `v${number}` } },
});
const digestOf = (number: number): Buffer => Buffer.from(atOnce(digestingDocument(version(number))), "hex");

describe("a version that only some agents are to have, over bunting.sync.v1", () => {
  let server: SyncServer;
  let connection: AgentConnection;
  let trials = 0;

  beforeEach(async () => {
    trials = 0;
    const metrics = { ...noMetrics, trialSubscribers: (delta: number) => (trials += delta) };
    server = await new SyncServer({ context: { clock: new ManualClock(), metrics } }).start();
    connection = await AgentConnection.open(server.port);
  });
  afterEach(async () => {
    connection.close();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    for (const { acks, trial } of server.topics.topics()) {
      expect(acks.held.size).to.equal(0);
      expect(trial?.acks.held.size ?? 0).to.equal(0);
    }
    expect(trials).to.equal(0);
    await server.stop();
  });

  /** All are to have one version, and those below the reach another. */
  function publish(whole: number, tried?: number, reach = 0): void {
    const trial =
      tried === undefined
        ? {}
        : { trial: { document: version(tried), digest: digestOf(tried).toString("hex"), reach } };
    server.source.publish(topic, version(whole), { uid: "u", generation: 1, ...trial });
  }

  function agent(instance?: string, held?: number): AgentClientStream {
    const stream = connection.stream(false);
    stream.send({ $case: "hello", value: { agent: "test/1", providerId: "", instance } });
    stream.subscribe(topic, held === undefined ? undefined : { digest: digestOf(held) });
    return stream;
  }

  /** Two agents, of which the first is the one with the lower bucket, and one without a name; all have version 1. */
  async function three(): Promise<readonly [AgentClientStream, AgentClientStream, AgentClientStream]> {
    publish(1);
    // Of "a" the bucket is 1204, of "checkout-0" it is 3232.
    const all = [agent("a"), agent("checkout-0"), agent()] as const;
    for (const one of all) {
      await one.next("snapshot");
      one.ack(topic, digestOf(1));
    }
    return all;
  }

  const counts = (): TrialCounts | undefined => {
    const [only] = server.topics.topics();
    return only === undefined ? undefined : trialCounts(only);
  };

  it("comes as a delta, goes back as one, and is confirmed in a few bytes when all have it", async () => {
    const [first, second, nameless] = await three();
    publish(1, 2, 2_000);
    const delta = await first.next("delta");
    expect([delta.fromDigest, delta.version?.digest]).to.deep.equal([digestOf(1), digestOf(2)]);
    first.ack(topic, digestOf(2));
    await eventually(() => counts()?.current === 1, "the ack");
    expect(counts()).to.include({ agents: 2, wave: 1, lowest: 1_204, refusals: 0, reach: 2_000 });
    publish(2);
    const { version: confirmed } = await first.next("unchanged");
    expect(confirmed?.digest).to.deep.equal(digestOf(2));
    for (const other of [second, nameless]) {
      const { version: next, fromDigest } = await other.next("delta");
      expect([fromDigest, next?.digest]).to.deep.equal([digestOf(1), digestOf(2)]);
    }
    expect(counts()).to.equal(undefined);
  });

  it("is taken back from who has it, and goes there again", async () => {
    const [first, second] = await three();
    publish(1, 2, 2_000);
    await first.next("delta");
    first.ack(topic, digestOf(2));
    publish(1, 2, 0);
    expect((await first.next("snapshot")).version?.digest).to.deep.equal(digestOf(1));
    first.ack(topic, digestOf(1));
    publish(1, 2, 2_000);
    expect((await first.next("delta")).version?.digest).to.deep.equal(digestOf(2));
    await second.fence();
  });

  it("is what an agent gets that comes back with it, also while its answer was under way", async () => {
    const [first] = await three();
    publish(1, 2, 2_000);
    await first.next("delta");
    // It is given up before the agent has answered.
    publish(1, 2, 0);
    first.ack(topic, digestOf(2));
    expect((await first.next("snapshot")).version?.digest).to.deep.equal(digestOf(1));
    first.ack(topic, digestOf(1));
    publish(1, 2, 2_000);
    await first.next("delta");
    const again = agent("a", 2);
    expect((await again.next("unchanged")).version?.digest).to.deep.equal(digestOf(2));
    const other = agent("checkout-0", 2);
    expect((await other.next("snapshot")).version?.digest, "it is not to have it").to.deep.equal(digestOf(1));
  });

  describe("with another proxy", () => {
    function proxy(trialDigest?: Buffer): AgentClientStream {
      const stream = connection.stream(false);
      const names = { agent: "test/1", providerId: "" };
      stream.send({ $case: "hello", value: { ...names, isProxy: true, readsTrials: true } });
      stream.send({ $case: "subscribe", value: { topic, held: undefined, trialDigest } });
      return stream;
    }

    /** The proxy has version 1, and before that it was told what is tried, if anything is. */
    async function following(stream: AgentClientStream, isTried = true): Promise<AgentClientStream> {
      await stream.next("tier");
      if (isTried) await stream.next("trial");
      await stream.next("snapshot");
      stream.ack(topic, digestOf(1));
      return stream;
    }

    const report = (change: object): void => {
      below.send({
        $case: "trialReport",
        value: {
          ...{ topic, digest: digestOf(2), reach: 2_000, agents: 5, lowest: 3, wave: 2, current: 1 },
          ...{ refusals: 0, reason: "", ...change },
        },
      });
    };
    let below: AgentClientStream;

    it("tells it what its agents are to try, and for how many, before the version that all are to have", async () => {
      publish(1, 2, 100);
      below = proxy();
      await below.next("tier");
      const trial = await below.next("trial");
      await below.next("snapshot");
      below.ack(topic, digestOf(1));
      expect([trial.digest, trial.reach]).to.deep.equal([digestOf(2), 100]);
      expect(JSON.parse(trial.document.toString())).to.deep.equal(version(2));
      publish(1, 2, 2_000);
      expect((await below.next("trial")).reach).to.equal(2_000);
      publish(2);
      expect((await below.next("delta")).version?.digest).to.deep.equal(digestOf(2));
      below.ack(topic, digestOf(2));
      expect((await below.next("trial")).digest).to.have.length(0);
      await below.fence();
    });

    it("tells it that there is none any more, if it has one from before, and nothing otherwise", async () => {
      publish(1);
      below = await following(proxy(digestOf(2)), false);
      expect((await below.next("trial")).digest).to.have.length(0);
      const other = await following(proxy(), false);
      await other.fence();
    });

    it("counts its agents, once it says that they go by the same", async () => {
      publish(1, 2, 2_000);
      below = await following(proxy());
      expect(counts(), "it has said nothing").to.include({ reach: -1, agents: 0 });
      report({ reach: -1 });
      await eventually(() => counts()?.agents === 5, "the report");
      expect(counts()).to.include({ reach: -1, wave: 2, current: 1, lowest: 3 });
      report({ refusals: 3, reason: "f: no" });
      await eventually(() => counts()?.refusals === 3, "the refusals");
      expect(counts()).to.include({ reach: 2_000, reason: "f: no" });
      report({ digest: digestOf(3) });
      await eventually(() => counts()?.reach === -1, "a report about another version");
      expect(counts()).to.include({ agents: 0, refusals: 0 });
    });

    it("does not count more of its agents than it has, which would stand for those of others", async () => {
      const [first] = await three();
      publish(1, 2, 2_000);
      await first.next("delta");
      below = await following(proxy());
      report({ agents: 1, wave: 7, current: 8 });
      await eventually(() => counts()?.agents === 3, "the report");
      expect(counts(), "the first agent has not answered").to.include({ wave: 2, current: 1 });
    });

    it("takes a report for a topic to which its stream is not subscribed for nothing", async () => {
      publish(1, 2, 2_000);
      below = await following(proxy());
      report({});
      report({ topic: "other/flags", refusals: 9 });
      await below.fence();
      expect(counts()).to.include({ agents: 5, refusals: 0 });
      expect([...server.topics.topics()], "nothing was begun by it").to.have.length(1);
    });

    it("ends the stream of one that reports what can't be", async () => {
      publish(1, 2, 2_000);
      below = await following(proxy());
      report({ agents: -1 });
      expect((await below.ended).message).to.contain("negative");
    });
  });

  it("is complained of by agents that have accepted it, which is not heard of the version that all have", async () => {
    const [first, second] = await three();
    publish(1, 2, 2_000);
    await first.next("delta");
    first.ack(topic, digestOf(2));
    const complaint = [{ key: "f", reason: "its evaluations fail" }];
    first.ack(topic, digestOf(2), complaint);
    second.ack(topic, digestOf(1), complaint);
    await second.fence();
    await eventually(() => counts()?.refusals === 1, "the complaint");
    expect(counts()).to.include({ current: 1, wave: 1, reason: "f: its evaluations fail" });
    expect([...server.topics.topics()][0]?.acks.refusing).to.equal(0);
    // All are to have it: what was said against the trial ends with that.
    publish(2);
    await first.next("unchanged");
    first.ack(topic, digestOf(2));
    await eventually(() => [...server.topics.topics()][0]?.acks.held.size === 2, "both versions are held");
    expect([...server.topics.topics()][0]?.acks.refusing).to.equal(0);
  });

  it("is not refused by agents that refuse the same flag of the version before, whatever others do", async () => {
    publish(1);
    const [first, second] = [agent("a"), agent("checkout-0")];
    const refusal = [{ key: "f", reason: "no" }];
    for (const one of [first, second]) {
      await one.next("snapshot");
      one.ack(topic, digestOf(1), one === first ? refusal : []);
      await one.fence();
    }
    publish(1, 2, 2_000);
    await first.next("delta");
    first.ack(topic, digestOf(2), refusal);
    await eventually(() => counts()?.current === 1, "the answer");
    expect(counts()).to.include({ refusals: 0, wave: 1 });
    // A flag that both versions have alike says nothing against the second.
    const failing = (key: string): { key: string; reason: string } => ({
      key,
      reason: "its evaluations fail",
    });
    first.ack(topic, digestOf(2), [...refusal, failing("ballast"), failing("g")]);
    await eventually(() => counts()?.refusals === 1, "the complaint of another flag");
    // Of an agent that comes now it is not known.
    const again = agent("a", 2);
    await again.next("unchanged");
    again.ack(topic, digestOf(2), refusal);
    await eventually(() => counts()?.refusals === 2, "the same refusal of another agent");
  });

  it("is refused by flag or as a whole, which is counted, and no more after it was given up", async () => {
    const [first] = await three();
    publish(1, 2, 2_000);
    await first.next("delta");
    first.ack(topic, digestOf(2), [{ key: "f", reason: "no" }]);
    await eventually(() => counts()?.refusals === 1, "the refusal");
    expect(counts()).to.include({ current: 1, reason: "f: no" });
    publish(1, 3, 2_000);
    await first.next("snapshot");
    first.nack(topic, "not at all", { held: digestOf(2) });
    await eventually(() => counts()?.refusals === 1, "the refusal of all");
    expect(counts()).to.include({ current: 0, wave: 1, reason: "not at all" });
    publish(1);
    await first.next("snapshot");
    first.ack(topic, digestOf(1));
    await eventually(() => [...server.topics.topics()][0]?.acks.refusing === 0, "nothing is refused");
  });
});
