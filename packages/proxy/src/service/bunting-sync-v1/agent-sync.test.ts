import { expect } from "chai";
import { status as grpcStatus } from "@grpc/grpc-js";
import { KubeError } from "@bunting/kube";
import { buntingSyncV1, type FlagDocument, type JsonObject } from "@bunting/protocol";
import { AgentConnection, type AgentClientStream } from "@bunting/test/support/agent-client.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { HeldFlags } from "@bunting/test/support/held-flags.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { SyncServer, type SyncServerOptions } from "@bunting/test/support/sync-server.js";
import { anonymousAccess, type Access } from "../../access/access.js";
import { ProxyError } from "../../proxy-error.js";
import { noMetrics, type ProxyMetrics } from "../../proxy-metrics.js";
import type { Topic } from "../../topic/topic.js";

const topic = "demo/flags";
const { DeletionPolicy } = buntingSyncV1;
/** So that a delta is less than half of it. */
const ballast: JsonObject = { ballast: { state: "x".repeat(1_000) } };

function version(number: number, more: JsonObject = {}): FlagDocument {
  return { flags: { ...ballast, f: { state: `v${number}` }, ...more } };
}

function digestOf(document: FlagDocument): Buffer {
  return Buffer.from(HeldFlags.of(document).digest, "hex");
}

function keysOf({ flags }: buntingSyncV1.Delta): string[] {
  return flags.map(({ key }) => key);
}

describe("bunting.sync.v1", () => {
  let clock: ManualClock;
  let server: SyncServer;
  let connection: AgentConnection;
  let counts: {
    refused: string[];
    nacks: string[];
    ackTimeouts: number;
    rejected: number;
    heldBack: number;
    subscriptions: number;
  };

  async function start(options: SyncServerOptions = {}): Promise<void> {
    clock = new ManualClock();
    counts = { refused: [], nacks: [], ackTimeouts: 0, rejected: 0, heldBack: 0, subscriptions: 0 };
    const metrics: ProxyMetrics = {
      ...noMetrics,
      refused: (reason) => counts.refused.push(reason),
      nacked: (kind) => counts.nacks.push(kind),
      ackTimedOut: () => counts.ackTimeouts++,
      rejectedFlags: (delta) => (counts.rejected += delta),
      heldBack: (delta) => (counts.heldBack += delta),
      agentSubscriptions: (delta) => (counts.subscriptions += delta),
    };
    server = await new SyncServer({ context: { clock, metrics }, ...options }).start();
    connection = await AgentConnection.open(server.port);
  }

  async function restart(options: SyncServerOptions): Promise<void> {
    await stop();
    await start(options);
  }

  async function stop(): Promise<void> {
    connection.close();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    for (const { size, acks } of server.topics.topics()) {
      expect(size).to.equal(0);
      expect(acks.held.size).to.equal(0);
    }
    const { rejected, heldBack, subscriptions } = counts;
    expect({ rejected, heldBack, subscriptions }).to.deep.equal({
      rejected: 0,
      heldBack: 0,
      subscriptions: 0,
    });
    await server.stop();
    expect(clock.pendingTimers).to.equal(0);
  }

  function theTopic(): Topic {
    const [only] = server.topics.topics();
    if (only === undefined) throw new Error("nobody is subscribed");
    return only;
  }

  /** A stream that was sent version 1 and holds it. */
  async function holdingOne(): Promise<AgentClientStream> {
    server.source.publish(topic, version(1));
    const agent = connection.stream();
    agent.subscribe(topic);
    await agent.next("snapshot");
    agent.ack(topic, digestOf(version(1)));
    await holds(version(1));
    return agent;
  }

  /** Waits until the proxy knows that so many agents hold a version. */
  async function holds(document: FlagDocument, agents = 1): Promise<void> {
    const digest = digestOf(document).toString("hex");
    await eventually(() => theTopic().acks.held.get(digest) === agents, "the ack");
  }

  beforeEach(() => start());
  afterEach(() => stop());

  describe("tells what sources have", () => {
    type Follow = Parameters<NonNullable<SyncServerOptions["followList"]>>;
    const asking = {
      $case: "hello",
      value: { agent: "t", providerId: "", sources: { namespace: "shop", text: "a,b", digest: "d" } },
    } as const;
    let followed: { readonly list: Follow[0]; readonly tell: Follow[1]; hasEnded: boolean }[];
    const followList = (list: Follow[0], tell: Follow[1]): (() => void) => {
      const follower = { list, tell, hasEnded: false };
      followed.push(follower);
      return () => (follower.hasEnded = true);
    };
    beforeEach(async () => {
      followed = [];
      await restart({ followList });
    });

    it("to an agent that asks, on each change, until it leaves", async () => {
      const agent = connection.stream(false);
      agent.send(asking);
      await eventually(() => followed.length === 1, "the list is followed");
      const [follower] = followed;
      expect(follower?.list).to.deep.include({ namespace: "shop", text: "a,b" });
      for (const topics of [["shop/x"], ["shop/x", "ops/y"]]) {
        follower?.tell({ topics, frame: "f1" });
        expect(await agent.next("sourceFlags")).to.deep.equal({ topics, frame: "f1" });
      }
      expect(follower?.hasEnded).to.equal(false);
      agent.cancel();
      await eventually(() => follower?.hasEnded === true, "nobody follows it");
    });

    it("without a gap in the numbers that agents count", async () => {
      server.source.publish(topic, version(1));
      const agent = connection.stream(false);
      agent.send(asking);
      await eventually(() => followed.length === 1, "the list is followed");
      followed[0]?.tell({ topics: ["shop/x"], frame: "f1" });
      await agent.next("sourceFlags");
      agent.subscribe(topic);
      await agent.next("snapshot");
      agent.ack(topic, digestOf(version(1)));
      await holds(version(1));
    });

    it("to nobody who does not ask", async () => {
      server.source.publish(topic, version(1));
      const agent = connection.stream();
      agent.subscribe(topic);
      await agent.next("snapshot");
      expect(followed).to.deep.equal([]);
    });

    it("only to callers of the Pods' namespace, where callers have an identity", async () => {
      const identity = { kind: "token", namespace: "ops", serviceAccount: "default" } as const;
      const admit: Access["admit"] = ({ stream }) => {
        stream.admit();
        return { identity };
      };
      await restart({ followList, access: { ...anonymousAccess, admit } });
      server.source.publish(topic, version(1));
      for (const namespace of ["shop", "ops"]) {
        const agent = connection.stream(false);
        agent.send({
          $case: "hello",
          value: { ...asking.value, sources: { namespace, text: "a", digest: "" } },
        });
        agent.subscribe(topic);
        await agent.next("snapshot");
      }
      expect(followed.map(({ list }) => list.namespace)).to.deep.equal(["ops"]);
    });

    it("and ends the stream of one whose text, or digest, is longer than any", async () => {
      for (const longer of [{ text: "x".repeat(1_025) }, { digest: "0".repeat(65) }]) {
        const agent = connection.stream(false);
        const sources = { ...asking.value.sources, ...longer };
        agent.send({ $case: "hello", value: { ...asking.value, sources } });
        expect((await agent.ended).status).to.equal(grpcStatus.INVALID_ARGUMENT);
      }
      expect(followed).to.deep.equal([]);
    });

    it("and knows which list each says that it has, until it leaves", async () => {
      const agent = connection.stream(false);
      agent.send(asking);
      const has = (): string[] => Array.from(server.agentSync.followers(), ({ digest }) => digest);
      await eventually(() => has().join() === "d", "it follows the list");
      const other = connection.stream();
      other.subscribe(topic);
      await eventually(() => server.topics.size === 1, "the other follows none");
      expect(has()).to.deep.equal(["d"]);
      agent.cancel();
      await eventually(() => has().length === 0, "nobody follows one");
    });
  });

  describe("answers a subscription", () => {
    it("with the snapshot if the agent holds nothing", async () => {
      server.source.publish(topic, version(1), { uid: "u", generation: 4, resourceVersion: "7" });
      const agent = connection.stream();
      agent.subscribe(topic);
      const snapshot = await agent.next("snapshot");
      expect(snapshot.topic).to.equal(topic);
      expect(HeldFlags.ofSnapshot(snapshot).digest).to.equal(digestOf(version(1)).toString("hex"));
      expect(snapshot.version).to.deep.equal({
        uid: "u",
        generation: "4",
        resourceVersion: "7",
        digest: digestOf(version(1)),
      });
    });

    it("with unchanged if it holds the newest", async () => {
      server.source.publish(topic, version(1));
      const agent = connection.stream();
      agent.subscribe(topic, { digest: digestOf(version(1)) });
      expect((await agent.next("unchanged")).version?.digest.equals(digestOf(version(1)))).to.be.true;
    });

    it("with what differs if it holds one of the last 32 versions", async () => {
      await holdingOne();
      for (let number = 2; number <= 5; number++) server.source.publish(topic, version(number));
      const agent = connection.stream();
      agent.subscribe(topic, { digest: digestOf(version(3)) });
      const delta = await agent.next("delta");
      expect(keysOf(delta)).to.deep.equal(["f"]);
      expect(delta.fromDigest.equals(digestOf(version(3)))).to.be.true;
      expect(HeldFlags.of(version(3)).apply(delta).digest).to.equal(delta.version?.digest.toString("hex"));
    });

    it("with the snapshot if it holds an unknown version", async () => {
      server.source.publish(topic, version(1));
      const agent = connection.stream();
      agent.subscribe(topic, { digest: digestOf(version(77)) });
      await agent.next("snapshot");
    });

    it("with missing if there is no FeatureFlag, and with the document once there is", async () => {
      const agent = connection.stream();
      agent.subscribe(topic, { digest: digestOf(version(1)) });
      await agent.headers;
      expect(await agent.next("missing")).to.deep.equal({ topic });
      server.source.publish(topic, version(1));
      await agent.next("unchanged");
    });

    it("with an error if the missing policy is fail", async () => {
      await restart({ missingPolicy: "fail" });
      const agent = connection.stream();
      agent.subscribe(topic);
      expect((await agent.next("topicError")).code).to.equal(grpcStatus.NOT_FOUND);
      server.source.publish(topic, version(1));
      agent.subscribe(topic);
      await agent.next("snapshot");
    });

    it("with an error that names the expected form if it names no topic, and serves the others", async () => {
      server.source.publish(topic, version(1));
      const agent = connection.stream();
      for (const bad of ["", "flags", "Demo/flags", "a/b/c", "core.openfeature.dev/demo/flags"]) {
        agent.subscribe(bad);
        const error = await agent.next("topicError");
        expect(error.topic).to.equal(bad);
        expect(error.code).to.equal(grpcStatus.INVALID_ARGUMENT);
        expect(error.message).to.include("<namespace>/<name>");
      }
      agent.subscribe(topic);
      await agent.next("snapshot");
    });

    it("with an error beyond 32 topics, until the agent unsubscribes from one", async () => {
      const agent = connection.stream();
      for (let i = 0; i < 33; i++) {
        server.source.publish(`demo/f${i}`, version(1));
        agent.subscribe(`demo/f${i}`);
      }
      const seen = [];
      for (let i = 0; i < 33; i++) seen.push(await agent.messages.nextEvent());
      const errors = seen.filter((message) => message.$case === "topicError").map(({ value }) => value);
      expect(errors).to.have.length(1);
      expect(errors[0]).to.include({ topic: "demo/f32", code: grpcStatus.UNAVAILABLE });
      expect(errors[0]?.retryAfterMs).to.be.within(5_000, 15_000);
      agent.subscribe("demo/f33");
      await agent.next("topicError");
      expect(counts.refused).to.deep.equal(["topics_per_stream", "topics_per_stream"]);
      const lines = server.logs.filter((line) => line.includes("a stream has at most 32 topics"));
      expect(lines, "once a minute").to.have.length(1);
      expect(JSON.parse(lines[0] ?? "")).to.include({ level: "warn", peer: "127.0.0.1" });
      agent.unsubscribe("demo/f0");
      agent.subscribe("demo/f32");
      expect((await agent.next("snapshot")).topic).to.equal("demo/f32");
    });
  });

  describe("uses the answers for flow control", () => {
    it("sends nothing about a topic while a message is not answered, then only the newest", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      for (let number = 3; number <= 6; number++) server.source.publish(topic, version(number));
      await agent.fence();
      agent.ack(topic, digestOf(version(2)));
      const delta = await agent.next("delta");
      expect(HeldFlags.of(version(2)).apply(delta).digest).to.equal(digestOf(version(6)).toString("hex"));
      agent.ack(topic, digestOf(version(6)));
      await agent.fence();
    });

    it("holds up no other topic, and no other agent", async () => {
      server.source.publish("demo/other", version(1));
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      agent.subscribe("demo/other");
      expect((await agent.next("snapshot")).topic).to.equal("demo/other");
      const other = connection.stream();
      other.subscribe(topic);
      await other.next("snapshot");
    });

    it("sends nothing if an edit was reverted before it could be sent", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      server.source.publish(topic, version(3));
      server.source.publish(topic, version(2));
      agent.ack(topic, digestOf(version(2)));
      await agent.fence();
    });

    it("starts a delta from what the agent says it holds, never from what was last sent", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2, { added: { state: "" } }));
      await agent.next("delta");
      agent.nack(topic, "no room", { held: digestOf(version(1)) });
      server.source.publish(topic, version(3, { added: { state: "" } }));
      const delta = await agent.next("delta");
      expect(delta.fromDigest.equals(digestOf(version(1)))).to.be.true;
      expect(keysOf(delta)).to.deep.equal(["added", "f"]);
    });

    it("does not send a refused version again, but sends what follows it, even the version before", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      agent.nack(topic, "no room", { held: digestOf(version(1)) });
      await eventually(() => counts.nacks.length === 1, "the nack");
      server.source.repeat(topic);
      await agent.fence();
      server.source.publish(topic, version(1));
      expect((await agent.next("unchanged")).version?.digest.equals(digestOf(version(1)))).to.be.true;
      expect(counts.nacks).to.deep.equal(["refused"]);
    });

    it("sends the snapshot at once, and once, if a delta did not lead to its digest", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      agent.nack(topic, "it led elsewhere", { held: digestOf(version(1)), isDeltaMismatch: true });
      const snapshot = await agent.next("snapshot");
      expect(snapshot.version?.digest.equals(digestOf(version(2)))).to.be.true;
      agent.nack(topic, "again", { held: digestOf(version(1)), isDeltaMismatch: true });
      await agent.fence();
      expect(counts.nacks).to.deep.equal(["mismatch", "refused"]);
    });

    it("sends the snapshot also if unchanged was wrong", async () => {
      server.source.publish(topic, version(1));
      const agent = connection.stream();
      agent.subscribe(topic, { digest: digestOf(version(1)) });
      await agent.next("unchanged");
      agent.nack(topic, "it does not", { isDeltaMismatch: true });
      await agent.next("snapshot");
    });

    it("continues as if the agent held nothing when no answer comes in time, and ignores a late one", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      const late = agent.lastNumber(topic);
      server.source.publish(topic, version(3));
      clock.advance(29_999);
      await agent.fence();
      clock.advance(1);
      const snapshot = await agent.next("snapshot");
      expect(snapshot.version?.digest.equals(digestOf(version(3)))).to.be.true;
      expect(counts.ackTimeouts).to.equal(1);
      expect(theTopic().acks.held.size).to.equal(0);
      agent.ack(topic, digestOf(version(2)), [], late);
      await agent.fence();
      expect(theTopic().acks.held.size).to.equal(0);
      agent.ack(topic, digestOf(version(3)));
      await holds(version(3));
      server.source.publish(topic, version(4));
      expect(keysOf(await agent.next("delta"))).to.deep.equal(["f"]);
    });

    for (const [what, answer] of [
      ["ack", (agent, number) => agent.ack(topic, digestOf(version(2)), [], number)],
      ["nack", (agent, number) => agent.nack(topic, "no room", { number, held: digestOf(version(1)) })],
      ["nack of a mismatch", (agent, number) => agent.nack(topic, "", { number, isDeltaMismatch: true })],
    ] satisfies [string, (agent: AgentClientStream, number: number) => void][]) {
      it(`ignores a late ${what} although the same version was sent again since`, async () => {
        const agent = await holdingOne();
        server.source.publish(topic, version(2));
        await agent.next("delta");
        const late = agent.lastNumber(topic);
        clock.advance(30_000);
        await agent.next("snapshot");
        answer(agent, late);
        answer(agent, late);
        server.source.publish(topic, version(3));
        await agent.fence();
        expect(theTopic().acks.held.size).to.equal(0);
        expect(counts.nacks).to.deep.equal([]);
        agent.ack(topic, digestOf(version(2)));
        expect((await agent.next("delta")).fromDigest.equals(digestOf(version(2)))).to.be.true;
      });
    }

    it("ignores late answers in any order, and takes the one to the last message", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      const late = [agent.lastNumber(topic)];
      for (const number of [3, 2]) {
        server.source.publish(topic, version(number));
        clock.advance(30_000);
        await agent.next("snapshot");
        late.push(agent.lastNumber(topic));
      }
      server.source.publish(topic, version(4));
      agent.ack(topic, digestOf(version(3)), [], late[1]);
      agent.ack(topic, digestOf(version(2)), [], late[0]);
      await agent.fence();
      agent.ack(topic, digestOf(version(2)), [], late[2]);
      expect((await agent.next("delta")).fromDigest.equals(digestOf(version(2)))).to.be.true;
    });

    it("ignores an answer that comes twice", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      const number = agent.lastNumber(topic);
      agent.ack(topic, digestOf(version(2)), [], number);
      agent.nack(topic, "no room", { number });
      await holds(version(2));
      server.source.publish(topic, version(3));
      await agent.next("delta");
      agent.ack(topic, digestOf(version(2)), [], number);
      server.source.publish(topic, version(4));
      await agent.fence();
      agent.ack(topic, digestOf(version(3)));
      await agent.next("delta");
      expect(counts.nacks).to.deep.equal([]);
    });

    it("sends the same version once more to an agent that never answers", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      for (let i = 0; i < 3; i++) {
        clock.advance(30_000);
        await agent.next("snapshot");
      }
      agent.ack(topic, digestOf(version(2)));
      await holds(version(2));
      expect(counts.ackTimeouts).to.equal(3);
    });

    it("counts a version as arrived when it was acknowledged", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      expect(theTopic().convergence).to.include({ arrived: 0, behind: 1 });
      agent.ack(topic, digestOf(version(2)));
      await eventually(() => theTopic().convergence.arrived === 1, "the arrival");
      server.source.publish(topic, version(3));
      await agent.next("delta");
      agent.nack(topic, "no room", { held: digestOf(version(2)) });
      await eventually(() => counts.nacks.length === 1, "the nack");
      expect(theTopic().convergence).to.include({ arrived: 0, behind: 1 });
    });
  });

  describe("announces that a FeatureFlag was deleted", () => {
    for (const deletionPolicy of ["keep", "empty", "close"] as const) {
      it(`with the policy ${deletionPolicy} when the grace is over, and of its return`, async () => {
        await restart({ deletionPolicy });
        const agent = await holdingOne();
        server.source.delete(topic);
        clock.advance(59_999);
        await agent.fence();
        clock.advance(1);
        const policy = DeletionPolicy[`DELETION_POLICY_${deletionPolicy.toUpperCase() as "KEEP"}`];
        expect(await agent.next("deleted")).to.deep.equal({ topic, policy });
        await agent.fence();
        server.source.publish(topic, version(1));
        if (deletionPolicy === "empty") await agent.next("snapshot");
        else await agent.next("unchanged");
        agent.ack(topic, digestOf(version(1)));
        server.source.publish(topic, version(2));
        await agent.next("delta");
      });
    }

    it("to later agents: keep sends the last document first, empty and close send nothing else", async () => {
      for (const deletionPolicy of ["keep", "empty", "close"] as const) {
        await restart({ deletionPolicy });
        const before = await holdingOne();
        server.source.delete(topic);
        clock.advance(60_000);
        await before.next("deleted");
        const agent = connection.stream();
        agent.subscribe(topic);
        if (deletionPolicy === "keep") {
          await agent.next("snapshot");
          await agent.fence();
          agent.ack(topic, digestOf(version(1)));
        }
        await agent.next("deleted");
        await agent.fence();
        expect(theTopic().convergence.behind).to.equal(0);
      }
    });

    it("only after the answer to what was sent, so that no agent counts as holding what it has just emptied", async () => {
      await restart({ deletionPolicy: "empty", deletionGraceMs: 10_000 });
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      server.source.delete(topic);
      clock.advance(10_000);
      await agent.fence();
      agent.ack(topic, digestOf(version(2)));
      await agent.next("deleted");
      expect(theTopic().acks.held.size).to.equal(0);
    });
  });

  describe("never goes backwards", () => {
    const newer = { uid: "u", resourceVersion: "100000000000000000010", digest: digestOf(version(9)) };
    const here = { uid: "u", resourceVersion: "99999999999999999999" };

    it("holds an agent with a newer version until its source was read again, and answers with the result", async () => {
      server.source.publish(topic, version(1), { uid: "u", resourceVersion: "9" });
      const agent = connection.stream();
      agent.subscribe(topic, { ...newer, resourceVersion: "10" });
      await eventually(() => server.source.refreshes.length === 1, "the refresh");
      expect(server.source.refreshes[0]?.topic).to.equal(topic);
      server.source.repeat(topic);
      await agent.fence();
      expect(counts.heldBack).to.equal(1);
      server.source.publish(topic, version(2), { uid: "u", resourceVersion: "8" });
      server.source.refreshes[0]?.done();
      const snapshot = await agent.next("snapshot");
      expect(snapshot.version?.resourceVersion).to.equal("8");
      expect(counts.heldBack).to.equal(0);
    });

    it("answers as soon as its watch brings what is as new, without waiting for the read", async () => {
      server.source.publish(topic, version(1), { uid: "u", resourceVersion: "9" });
      const agent = connection.stream();
      agent.subscribe(topic, { ...newer, resourceVersion: "10" });
      await eventually(() => server.source.refreshes.length === 1, "the refresh");
      server.source.publish(topic, version(9), { uid: "u", resourceVersion: "10" });
      await agent.next("unchanged");
      agent.ack(topic, digestOf(version(9)));
      server.source.refreshes[0]?.done();
      await agent.fence();
    });

    it("does not send what is served in place of a version that there is no memory for, or that is refused otherwise", async () => {
      server.source.publish(topic, version(1), { uid: "u", resourceVersion: "9" });
      const agent = connection.stream(false);
      agent.send({ $case: "hello", value: { agent: "test/1", providerId: "", readsFreshness: true } });
      agent.subscribe(topic, { ...newer, resourceVersion: "10" });
      await eventually(() => server.source.refreshes.length === 1, "the refresh");
      server.source.stale(topic, new Error("there is no memory for version 10"));
      server.source.refreshes[0]?.done();
      expect((await agent.next("freshness")).isStale).to.equal(true);
      await agent.fence();
      server.source.publish(topic, version(9), { uid: "u", resourceVersion: "10" });
      expect((await agent.next("unchanged")).version?.resourceVersion).to.equal("10");
      agent.ack(topic, digestOf(version(9)));
      expect((await agent.next("freshness")).isStale).to.equal(false);
    });

    it("does not send what it had of a FeatureFlag that a read finds deleted", async () => {
      server.source.publish(topic, version(1), { uid: "u", resourceVersion: "9" });
      const agent = connection.stream();
      agent.subscribe(topic, { ...newer, resourceVersion: "10" });
      await eventually(() => server.source.refreshes.length === 1, "the refresh");
      server.source.delete(topic);
      server.source.refreshes[0]?.done();
      await agent.fence();
      expect(counts.heldBack).to.equal(0);
      clock.advance(60_000);
      await agent.next("deleted");
      server.source.publish(topic, version(2), { uid: "w", resourceVersion: "12" });
      expect((await agent.next("snapshot")).version?.uid).to.equal("w");
    });

    for (const deletionPolicy of ["keep", "empty", "close"] as const) {
      it(`tells an agent that holds what was created after a deletion of it only if a read finds it so, with the policy ${deletionPolicy}`, async () => {
        await restart({ deletionPolicy, deletionGraceMs: 0 });
        server.source.publish(topic, version(1), { uid: "u", resourceVersion: "9" });
        const before = connection.stream();
        before.subscribe(topic);
        await before.next("snapshot");
        before.ack(topic, digestOf(version(1)));
        server.source.delete(topic);
        clock.advance(0);
        await before.next("deleted");
        const agents = [connection.stream(), connection.stream()];
        for (const agent of agents) agent.subscribe(topic, { ...newer, uid: "w", resourceVersion: "12" });
        await eventually(() => server.source.refreshes.length === 2, "the refreshes");
        for (const agent of agents) await agent.fence();
        server.source.refreshes[0]?.done();
        await agents[0]?.next("deleted");
        server.source.publish(topic, version(9), { uid: "w", resourceVersion: "12" });
        await agents[1]?.next("unchanged");
        expect(counts.heldBack).to.equal(0);
      });
    }

    it("tells an agent at once that what it holds was deleted", async () => {
      await restart({ deletionPolicy: "empty", deletionGraceMs: 0 });
      server.source.publish(topic, version(1), { uid: "u", resourceVersion: "9" });
      const before = connection.stream();
      before.subscribe(topic);
      await before.next("snapshot");
      before.ack(topic, digestOf(version(1)));
      server.source.delete(topic);
      clock.advance(0);
      await before.next("deleted");
      const agent = connection.stream();
      agent.subscribe(topic, { uid: "u", resourceVersion: "9", digest: digestOf(version(1)) });
      await agent.next("deleted");
      expect(server.source.refreshes).to.have.length(0);
    });

    it("compares integers, also between an object and one created in its place", async () => {
      const cases = [
        { held: { uid: "u", resourceVersion: "10" }, has: { uid: "u", resourceVersion: "9" }, isHeld: true },
        { held: { uid: "u", resourceVersion: "9" }, has: { uid: "u", resourceVersion: "10" }, isHeld: false },
        { held: { uid: "u", resourceVersion: "9" }, has: { uid: "u", resourceVersion: "9" }, isHeld: false },
        { held: { uid: "u", resourceVersion: "10" }, has: { uid: "w", resourceVersion: "9" }, isHeld: true },
        { held: { uid: "u", resourceVersion: "9" }, has: { uid: "w", resourceVersion: "10" }, isHeld: false },
        { held: { uid: "u", generation: "3" }, has: { uid: "w", generation: 2 }, isHeld: false },
        { held: { uid: "", resourceVersion: "10" }, has: { resourceVersion: "9" }, isHeld: false },
        { held: { uid: "u", generation: "3" }, has: { uid: "u", generation: 2 }, isHeld: true },
        { held: { uid: "u", resourceVersion: "b" }, has: { uid: "u", resourceVersion: "a" }, isHeld: false },
        { held: newer, has: here, isHeld: false },
        {
          held: { uid: "u", resourceVersion: "18446744073709551615" },
          has: { uid: "u", resourceVersion: "18446744073709551614" },
          isHeld: true,
        },
      ];
      for (const { held, has, isHeld } of cases) {
        server.source.refreshes.length = 0;
        server.source.publish(topic, version(1), has);
        const agent = connection.stream();
        agent.subscribe(topic, { digest: digestOf(version(9)), ...held });
        if (isHeld) {
          await eventually(() => server.source.refreshes.length === 1, "the refresh");
          server.source.refreshes[0]?.done();
        }
        await agent.next("snapshot");
        expect(server.source.refreshes).to.have.length(isHeld ? 1 : 0);
        agent.cancel();
      }
    });
  });

  describe("tells agents that read it whether the source can be followed", () => {
    const hello = (readsFreshness: boolean | undefined): AgentClientStream => {
      const stream = connection.stream(false);
      stream.send({ $case: "hello", value: { agent: "test/1", providerId: "", readsFreshness } });
      stream.subscribe(topic);
      return stream;
    };
    const forbidden = new KubeError("FORBIDDEN", "the API server answered 403\nForbidden");
    const { StaleCause } = buntingSyncV1;

    it("also before there is anything to serve, with the reason and its cause, and no others", async () => {
      await restart({ isAnswering: false });
      const agent = hello(true);
      const old = hello(undefined);
      await eventually(() => server.source.watchCount === 1, "the topic is watched");
      server.source.stale(topic, forbidden);
      expect(await agent.next("freshness")).to.deep.equal({
        topic,
        isStale: true,
        reason: "the API server answered 403 Forbidden",
        cause: StaleCause.STALE_CAUSE_REFUSED,
      });
      server.source.publish(topic, version(1));
      await agent.next("snapshot");
      agent.ack(topic, digestOf(version(1)));
      expect(await agent.next("freshness")).to.include({ isStale: false, reason: "" });
      await old.next("snapshot");
      expect(old.lastNumber(topic), "nothing came before it").to.equal(1);
    });

    it("after the version that it is about, once for each reason, and agents that come later", async () => {
      server.source.publish(topic, version(1));
      const first = hello(true);
      await first.next("snapshot");
      first.ack(topic, digestOf(version(1)));
      const causes: readonly (readonly [Error, buntingSyncV1.StaleCause])[] = [
        [new Error("away"), StaleCause.STALE_CAUSE_UNREACHABLE],
        [new KubeError("NOT_FOUND", "no type"), StaleCause.STALE_CAUSE_MISCONFIGURED],
        [new ProxyError("DOCUMENT_INVALID", "line 3"), StaleCause.STALE_CAUSE_INVALID],
      ];
      for (const [reason, cause] of causes) {
        server.source.stale(topic, reason);
        expect(await first.next("freshness")).to.include({ isStale: true, reason: reason.message, cause });
        server.source.stale(topic, reason);
      }
      const later = hello(true);
      await later.next("snapshot");
      later.ack(topic, digestOf(version(1)));
      expect(await later.next("freshness")).to.include({
        reason: "line 3",
        cause: StaleCause.STALE_CAUSE_INVALID,
      });
    });
  });

  it("remembers an agent that is dropped without the newest version, with what it held, until it is back", async () => {
    server.source.publish(topic, version(1));
    const agent = connection.stream();
    agent.subscribe(topic);
    await agent.next("snapshot");
    agent.ack(topic, digestOf(version(1)));
    await eventually(() => [...server.topics.topics()][0]?.acks.held.size === 1, "it has the first version");
    server.source.publish(topic, version(2));
    await agent.next("delta");
    // It does not answer in time, and is sent the whole document.
    clock.advance(31_000);
    await agent.next("snapshot");
    clock.advance(20_000);
    for (const session of server.listener.sessions) session.destroy();
    await eventually(() => server.leftBehind.all.size === 1, "it was left behind");
    const [left] = server.leftBehind.all;
    expect(left).to.deep.include({
      topic,
      program: "test/1",
      count: 1,
      sinceMs: (left?.leftMs ?? 0) - 51_000,
    });
    expect(left?.digest).to.equal(HeldFlags.of(version(1)).digest);
    expect(server.logs.join("")).to.contain("a subscriber has gone without the newest flags");
    connection = await AgentConnection.open(server.port);
    const back = connection.stream();
    back.subscribe(topic, { digest: digestOf(version(1)) });
    await back.next("delta");
    expect(server.leftBehind.all.size).to.equal(0);
  });

  describe("knows what agents refuse", () => {
    it("names the flags that agents can't serve, how many they are, and why, and logs each once", async () => {
      const agents = [await holdingOne(), connection.stream()];
      agents[1]?.subscribe(topic, { digest: digestOf(version(1)) });
      await agents[1]?.next("unchanged");
      agents[1]?.ack(topic, digestOf(version(1)));
      server.source.publish(topic, version(2));
      for (const agent of agents) {
        await agent.next("delta");
        agent.ack(topic, digestOf(version(2)), [{ key: "f", reason: "no variant is named v2" }]);
      }
      await holds(version(2), 2);
      const digest = digestOf(version(2)).toString("hex");
      expect([...theTopic().acks.rejections]).to.deep.equal([
        { digest, flag: "f", reason: "no variant is named v2", subscribers: 2 },
      ]);
      expect(theTopic().acks.refusing).to.equal(2);
      expect(counts.rejected).to.equal(2);
      clock.advance(1_000);
      const lines = server.logs.filter((line) => line.includes("refused a flag"));
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include('"subscribers":2').and.include('"flag":"f"').and.include(digest);

      server.source.publish(topic, version(3));
      for (const agent of agents) {
        // The base of the delta is what was acknowledged, the refused flag included.
        expect((await agent.next("delta")).fromDigest.equals(digestOf(version(2)))).to.be.true;
        agent.ack(topic, digestOf(version(3)));
      }
      await holds(version(3), 2);
      expect(counts.rejected).to.equal(0);
      expect([...theTopic().acks.rejections].map(({ subscribers }) => subscribers)).to.deep.equal([0]);
      expect(theTopic().acks.refusing).to.equal(0);
    });

    it("names the version that an agent did not apply, and why", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      agent.nack(topic, "too large", { held: digestOf(version(1)) });
      await eventually(() => counts.nacks.length === 1, "the nack");
      const digest = digestOf(version(2)).toString("hex");
      expect([...theTopic().acks.rejections]).to.deep.equal([
        { digest, flag: undefined, reason: "too large", subscribers: 1 },
      ]);
      expect([...theTopic().acks.held]).to.deep.equal([[digestOf(version(1)).toString("hex"), 1]]);
      clock.advance(1_000);
      expect(server.logs.filter((line) => line.includes("refused a version"))).to.have.length(1);
    });

    it("keeps at most twenty rejections of one agent and a hundred of a topic, and logs twenty", async () => {
      server.source.publish(topic, version(1));
      const connections: AgentConnection[] = [];
      const agents: AgentClientStream[] = [];
      for (let i = 0; i < 6; i++) {
        const one = await AgentConnection.open(server.port);
        connections.push(one);
        const agent = one.stream();
        agent.subscribe(topic);
        agents.push(agent);
      }
      for (const agent of agents) {
        await agent.next("snapshot");
        agent.ack(topic, digestOf(version(1)));
      }
      await holds(version(1), agents.length);
      const flags = (): (string | undefined)[] =>
        [...theTopic().acks.rejections].filter(({ subscribers }) => subscribers > 0).map(({ flag }) => flag);
      /** Each agent refuses these flags of a new version. */
      const refuse = async (number: number, keysOf: (agent: number) => readonly string[]): Promise<void> => {
        server.source.publish(topic, version(number));
        for (const [i, agent] of agents.entries()) {
          await agent.next("delta");
          agent.ack(
            topic,
            digestOf(version(number)),
            keysOf(i).map((key) => ({ key, reason: "" })),
          );
          await holds(version(number), i + 1);
        }
      };
      await refuse(2, (agent) => Array.from({ length: 100 }, (_, i) => `flag-${agent}-${i}`));
      expect(flags()).to.have.length(100);
      for (let agent = 0; agent < 5; agent++)
        expect(flags().filter((flag) => flag?.startsWith(`flag-${agent}-`))).to.have.length(20);
      clock.advance(60_000);
      expect(server.logs.filter((line) => line.includes("refused a flag"))).to.have.length(20);
      expect(server.logs.filter((line) => line.includes("refused more than is logged"))).to.have.length(1);
      await refuse(3, (agent) => (agent === 5 ? ["latest"] : []));
      expect(flags()).to.deep.equal(["latest"]);
      for (const one of connections) one.close();
    });

    it("counts an agent once that names a flag many times", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      agent.ack(
        topic,
        digestOf(version(2)),
        Array<buntingSyncV1.RejectedFlag>(1_000).fill({ key: "f", reason: "" }),
      );
      await holds(version(2));
      expect([...theTopic().acks.rejections].map(({ subscribers }) => subscribers)).to.deep.equal([1]);
      expect(theTopic().acks.refusing).to.equal(1);
      expect(counts.rejected).to.equal(1);
      const { acks } = theTopic();
      agent.cancel();
      await eventually(() => acks.refusing === 0, "nobody refuses anything");
    });
  });

  describe("keeps a stream", () => {
    it("alive by a heartbeat after 20 s without a message", async () => {
      const agent = connection.stream();
      await agent.headers;
      clock.advance(19_000);
      server.source.publish(topic, version(1));
      agent.subscribe(topic);
      await agent.next("snapshot");
      agent.ack(topic, digestOf(version(1)));
      await holds(version(1));
      clock.advance(19_999);
      // Its answers are messages, so the 20 s begin again.
      await agent.fence();
      expect(agent.heartbeats.size).to.equal(0);
      for (let i = 0; i < 2; i++) {
        clock.advance(20_000);
        await agent.heartbeats.nextEvent();
      }
    });

    it("draining: with the newest version, then UNAVAILABLE, when what was sent is answered", async () => {
      const agent = await holdingOne();
      const waiting = connection.stream();
      waiting.subscribe("demo/absent");
      await waiting.next("missing");
      server.source.publish(topic, version(2));
      await agent.next("delta");
      server.source.publish(topic, version(3));
      const streams = [...server.listener.sessions].flatMap((session) => [...session.streams]);
      for (const stream of streams)
        expect(server.agentSync.drain(stream, { code: "UNAVAILABLE", message: "shutting down" })).to.be.true;
      expect(await waiting.ended).to.include({ status: grpcStatus.UNAVAILABLE, message: "shutting down" });
      await agent.fence();
      expect(agent.hasEnded).to.be.false;
      agent.ack(topic, digestOf(version(2)));
      expect((await agent.next("delta")).version?.digest.equals(digestOf(version(3)))).to.be.true;
      expect(await agent.ended).to.include({ status: grpcStatus.UNAVAILABLE });
    });

    it("free of unsubscribed topics: they send nothing more", async () => {
      const agent = await holdingOne();
      agent.unsubscribe(topic);
      agent.unsubscribe(topic);
      await eventually(() => theTopic().size === 0, "the leave");
      server.source.publish(topic, version(2));
      await agent.fence();
      agent.subscribe(topic, { digest: digestOf(version(1)) });
      await agent.next("delta");
    });

    it("in order where an answer crosses the end of its subscription", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      agent.unsubscribe(topic);
      const number = agent.lastNumber(topic);
      agent.ack(topic, digestOf(version(2)));
      agent.nack(topic, "");
      agent.subscribe(topic, { digest: digestOf(version(2)) });
      await agent.next("unchanged");
      // It answers a message of the subscription before.
      agent.nack(topic, "", { number });
      server.source.publish(topic, version(3));
      await agent.fence();
      agent.ack(topic, digestOf(version(2)));
      await agent.next("delta");
      expect(counts.nacks).to.deep.equal([]);
    });
  });

  describe("survives agents that violate the protocol", () => {
    for (const [what, answer] of [
      [
        "acknowledges a message before it was sent",
        (agent, next) => agent.ack(topic, digestOf(version(1)), [], next),
      ],
      ["acknowledges a message without a number", (agent) => agent.ack(topic, digestOf(version(1)), [], 0)],
      ["refuses a message before it was sent", (agent, number) => agent.nack(topic, "", { number })],
      ["refuses a message without a number", (agent) => agent.nack(topic, "", { number: 0 })],
      ["acknowledges another digest than it was sent", (agent) => agent.ack(topic, digestOf(version(5)))],
      ["acknowledges no digest", (agent) => agent.ack(topic, undefined)],
    ] satisfies [string, (agent: AgentClientStream, next: number) => void][]) {
      it(`ends, in-band, a subscription whose agent ${what}; it may subscribe again`, async () => {
        const agent = await holdingOne();
        server.source.publish(topic, version(2));
        await agent.next("delta");
        answer(agent, agent.lastNumber(topic) + 1);
        expect(await agent.next("topicError")).to.include({ topic, code: grpcStatus.INVALID_ARGUMENT });
        agent.subscribe(topic, { digest: digestOf(version(2)) });
        await agent.next("unchanged");
      });
    }

    const held = { uid: "", generation: "0", resourceVersion: "", digest: Buffer.alloc(31) };
    const abuses: readonly [string, (agent: AgentClientStream) => void][] = [
      ["a second hello", (agent) => agent.send({ $case: "hello", value: { agent: "", providerId: "" } })],
      ["subscribing twice", (agent) => [topic, topic].forEach((each) => agent.subscribe(each))],
      ["an oversized topic", (agent) => agent.subscribe("x".repeat(1_025))],
      ["a digest of 31 bytes", (agent) => agent.send({ $case: "subscribe", value: { topic, held } })],
      ["an oversized reason", (agent) => agent.nack(topic, "é".repeat(513))],
      [
        "an oversized reason of a flag",
        (agent) => agent.ack(topic, undefined, [{ key: "f", reason: "x".repeat(257) }]),
      ],
      [
        "too many rejected flags",
        (agent) =>
          agent.ack(topic, undefined, Array<buntingSyncV1.RejectedFlag>(1_001).fill({ key: "", reason: "" })),
      ],
      ["an oversized message", (agent) => void agent.sendBytes(Buffer.alloc(1_048_577))],
      ["what is no message", (agent) => void agent.sendBytes(Buffer.from("0aff", "hex"))],
    ];
    for (const [what, abuse] of abuses) {
      it(`ends a stream with INVALID_ARGUMENT, and all it held, for ${what}`, async () => {
        const agent = connection.stream();
        agent.subscribe("demo/held");
        await agent.next("missing");
        abuse(agent);
        expect((await agent.ended).status).to.equal(grpcStatus.INVALID_ARGUMENT);
        expect([...server.topics.topics()].every(({ size }) => size === 0)).to.be.true;
      });
    }

    it("cuts the long key of a flag that is refused, as a document may have it", async () => {
      const agent = await holdingOne();
      server.source.publish(topic, version(2));
      await agent.next("delta");
      agent.ack(topic, digestOf(version(2)), [{ key: "k".repeat(5_000), reason: "" }]);
      await holds(version(2));
      expect([...theTopic().acks.rejections][0]?.flag).to.equal("k".repeat(256));
    });

    it("ends a stream that does not begin with hello", async () => {
      const agent = connection.stream(false);
      agent.subscribe(topic);
      const { status, message } = await agent.ended;
      expect(status).to.equal(grpcStatus.INVALID_ARGUMENT);
      expect(message).to.include("hello");
    });

    it("ignores messages of an unknown kind", async () => {
      const agent = connection.stream();
      void agent.sendBytes(Buffer.from("7a021234", "hex"));
      agent.subscribe(topic);
      await agent.next("missing");
    });

    it("ends a stream whose agent closed its side, but not with OK", async () => {
      const agent = await holdingOne();
      agent.end();
      expect((await agent.ended).status).to.equal(grpcStatus.UNAVAILABLE);
      expect(theTopic().size).to.equal(0);
    });

    it("reads no requests of an agent that does not read their errors, and answers all once it does", async () => {
      const agent = connection.stream();
      await agent.headers;
      agent.pause();
      const requests = 5_000;
      for (let i = 0; i < requests; i++) agent.subscribe(`-/${"x".repeat(900)}`);
      const other = connection.stream();
      other.subscribe(topic);
      await other.next("missing");
      agent.resume();
      for (let i = 0; i < requests; i++) await agent.next("topicError");
      expect(agent.hasEnded).to.be.false;
    });
  });
});
