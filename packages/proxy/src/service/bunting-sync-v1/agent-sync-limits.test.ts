import { expect } from "chai";
import { status as grpcStatus } from "@grpc/grpc-js";
import { StartQueue } from "@bunting/rpc";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { AgentConnection } from "@bunting/test/support/agent-client.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { HeldFlags } from "@bunting/test/support/held-flags.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { SyncServer, type SyncServerOptions } from "@bunting/test/support/sync-server.js";
import { anonymousAccess } from "../../access/access.js";
import { noMetrics } from "../../proxy-metrics.js";
import { TopicQuota } from "../../topic/topic-quota.js";

const topic = "demo/flags";
const metrics = noMetrics;

function usingParts(clock: ManualClock) {
  const log = new RateLimitedLog(
    createLogger({ format: "json", debug: false }, { write: () => undefined }),
    clock,
  );
  return {
    startQueue: new StartQueue({ perSecond: 100, burst: 1, clock, onWaiting: () => undefined }),
    quota: new TopicQuota({ perConnection: 2, perAddress: 0, metrics, log }),
  };
}

describe("limits on streams of bunting.sync.v1", () => {
  let clock: ManualClock;
  let server: SyncServer;
  let connection: AgentConnection;

  async function start(parts: SyncServerOptions): Promise<void> {
    server = await new SyncServer({ context: { clock }, ...parts }).start();
    connection = await AgentConnection.open(server.port);
  }

  beforeEach(() => {
    clock = new ManualClock();
  });

  afterEach(async () => {
    connection.close();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    for (const { size } of server.topics.topics()) expect(size).to.equal(0);
    await server.stop();
  });

  it("count the topics of a connection over all its streams, and refuse with a time to come back", async () => {
    await start({ quota: usingParts(clock).quota });
    const [one, two] = [connection.stream(), connection.stream()];
    one.subscribe("demo/a");
    await one.next("missing");
    two.subscribe("demo/a");
    await two.next("missing");
    two.subscribe("demo/b");
    await two.next("missing");
    one.subscribe("demo/c");
    const error = await one.next("topicError");
    expect(error).to.include({ topic: "demo/c", code: grpcStatus.UNAVAILABLE });
    expect(error.retryAfterMs).to.be.within(5_000, 15_000);
    two.unsubscribe("demo/b");
    await eventually(() => server.topics.size === 1, "the leave");
    one.subscribe("demo/c");
    await one.next("missing");
    one.cancel();
    two.cancel();
    await eventually(() => [...server.topics.topics()].every(({ size }) => size === 0), "the end of both");
    const three = connection.stream();
    for (const each of ["demo/d", "demo/e"]) {
      three.subscribe(each);
      await three.next("missing");
    }
  });

  it("delay first snapshots, but not agents that hold the newest version", async () => {
    await start({ startQueue: usingParts(clock).startQueue });
    const document = { flags: { f: { state: "" } } };
    server.source.publish(topic, document);
    const first = connection.stream();
    first.subscribe(topic);
    await first.next("snapshot");
    const second = connection.stream();
    second.subscribe(topic);
    const resuming = connection.stream();
    resuming.subscribe(topic, { digest: Buffer.from(HeldFlags.of(document).digest, "hex") });
    await resuming.next("unchanged");
    await second.fence();
    clock.advance(10);
    await second.next("snapshot");
  });

  it("forget agents that leave while they wait", async () => {
    await start({ startQueue: usingParts(clock).startQueue });
    server.source.publish(topic, { flags: {} });
    const agents = Array.from({ length: 3 }, () => connection.stream());
    for (const agent of agents) agent.subscribe(topic);
    await agents[0]?.next("snapshot");
    await eventually(() => [...server.topics.topics()][0]?.size === 3, "three");
    agents[1]?.cancel();
    await eventually(() => [...server.topics.topics()][0]?.size === 2, "the leave");
    clock.advance(10);
    await agents[2]?.next("snapshot");
  });

  it("let only so many authorizations of a stream wait, unsubscribed ones included", async () => {
    const decisions: (() => void)[] = [];
    const authorize = (): Promise<undefined> =>
      new Promise((resolve) => decisions.push(() => resolve(undefined)));
    await start({ access: { ...anonymousAccess, authorize } });
    const agent = connection.stream();
    for (let i = 0; i < 100; i++) {
      agent.subscribe(topic);
      agent.unsubscribe(topic);
    }
    agent.subscribe("demo/last");
    await eventually(() => decisions.length === 64, "as many as may wait");
    // The agent's own stream is not read; another one of its connection is, after what that had sent.
    await connection.stream().fence();
    expect(decisions).to.have.length(64);
    expect(agent.messages.size).to.equal(0);

    for (const decide of decisions.splice(0)) decide();
    await eventually(() => decisions.length === 37, "the others");
    for (const decide of decisions) decide();

    // A decision may come before the unsubscribe that waits behind it.
    while ((await agent.next("missing")).topic === topic);
  });

  it("reset a stream whose agent takes nothing of a message", async () => {
    await start({ stall: { timeoutMs: 60_000, clock } });
    server.source.publish(topic, { flags: { f: { state: "x".repeat(500_000) } } });
    const agent = connection.stream();
    await agent.headers;
    agent.pause();
    agent.subscribe(topic);
    await eventually(() => [...server.topics.topics()][0]?.size === 1, "the subscription");
    clock.advance(45_000);
    expect(agent.hasEnded).to.be.false;
    clock.advance(45_000);
    agent.resume();
    const refusedStream = 7;
    expect((await agent.ended).resetCode).to.equal(refusedStream);
  });
});
