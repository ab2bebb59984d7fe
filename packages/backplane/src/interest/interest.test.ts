import { systemClock } from "@bunting/runtime";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import { AnnouncementReader } from "../announcement/announcement-reader.js";
import { needsRedisServer, RedisServer } from "../redis-server.fixture.js";
import { Stops, TestReplica } from "../replica.fixture.js";
import { answerOf } from "../connection/answers.js";
import { script } from "../connection/script.js";
import { shardOf } from "../record/shard-of.js";
import { Interest } from "./interest.js";

describe("Interest", () => {
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  afterEach(() => stops.stop());

  async function start({ wantedMs = 60_000, maxTopics = 1_000 } = {}) {
    const server = stops.add(await RedisServer.start());
    const replica = stops.add(await TestReplica.connected({ address: server.address, compareMs: 600_000 }));
    const { connection, keys, options } = replica;
    const interest = new Interest({ ...options, connection, keys, wantedMs, maxTopics });
    const listed = async (): Promise<string[]> => [...(await interest.list())].sort();
    return { interest, listed, replica, server };
  }

  it("lists what replicas mention, each topic once", async () => {
    const { interest, listed } = await start();
    const many = Array.from({ length: 600 }, (_, index) => `demo/flag-${index}` as const);
    await interest.mention(many);
    await interest.mention(many);
    expect(await listed()).to.deep.equal([...many].sort());
  });

  it("forgets what none has mentioned for so long", async () => {
    const { interest, listed } = await start({ wantedMs: 300 });
    await interest.mention(["demo/left"]);
    await eventually(async () => {
      await interest.mention(["demo/kept"]);
      return !(await listed()).includes("demo/left");
    }, "that it is forgotten");
    expect(await listed()).to.deep.equal(["demo/kept"]);
  });

  it("makes room for new topics by forgetting, and leaves nothing in Redis once none has mentioned any for so long", async () => {
    const { interest, server } = await start({ wantedMs: 300, maxTopics: 2 });
    const isThere = async (topic: string): Promise<boolean> =>
      (await server.command("ZSCORE", "bunting:2:interest", topic)) !== null;
    await interest.ask("demo/left", "watch");
    await eventually(async () => {
      await interest.ask("demo/kept", "watch");
      await interest.ask("demo/new", "watch");
      return isThere("demo/new");
    }, "room for another");
    expect(await isThere("demo/left")).to.equal(false);
    const keys = (): Promise<unknown> => server.command("KEYS", "bunting:2:interest");
    await eventually(async () => ((await keys()) as unknown[]).length === 0, "its end");
  });

  it("takes no more topics than it may have, and goes on to take those that it has", async () => {
    const { interest, listed } = await start({ maxTopics: 2 });
    await interest.mention(["demo/a", "demo/b", "demo/c"]);
    await interest.ask("demo/d", "watch");
    await interest.ask("demo/a", "watch");
    expect(await listed()).to.deep.equal(["demo/a", "demo/b"]);
  });

  it("lists no more than may be taken, and no times to come, whatever other software writes", async () => {
    const { interest, listed, server } = await start({ maxTopics: 2 });
    const many = Array.from({ length: 100 }, (_, index) => [String(Date.now()), `demo/${index}`]).flat();
    await server.command(
      "ZADD",
      "bunting:2:interest",
      String(Date.now() + 10_000_000),
      "demo/later",
      ...many,
    );
    expect(await listed()).to.have.length(2);
    await server.command("DEL", "bunting:2:interest");
    await server.command("ZADD", "bunting:2:interest", String(Date.now() + 10_000_000), "demo/later");
    await interest.mention(["demo/a"]);
    expect(await listed()).to.deep.equal(["demo/a"]);
  });

  it("announces what is asked of an owner, once if it is asked a hundred times at once, and nothing of a topic that is not taken", async () => {
    const { interest, replica } = await start({ maxTopics: 1 });
    const asked = new EventQueue<string>();
    const gaps = new EventQueue<string>();
    const { options, keys, logger } = replica;
    const reader = new AnnouncementReader({
      ...{ options, keys, context: { logger, clock: systemClock } },
      onAnnounced: (topic) => asked.push(`announced ${topic}`),
      onRequest: (topic, what) => asked.push(`${what} ${topic}`),
      onGap: () => gaps.push("gap"),
    });
    replica.run((signal) => reader.run(signal));
    await gaps.nextEvent("the first look");
    await interest.mention(["demo/a"]);
    const shard = shardOf("demo/a", options.shards);
    const flood =
      "for number = 1, 100 do redis.call('XADD', KEYS[1], '*', 'topic', 'demo/a', 'asks', 'watch', 'number', number) end redis.call('SET', KEYS[2], 100)";
    await replica.connection.evaluate(
      script(flood, answerOf.nothing),
      [keys.announcements(shard), keys.announced(shard)],
      [],
    );
    await interest.ask("demo/b", "watch");
    await interest.ask("demo/a", "refresh");
    expect([await asked.nextEvent(), await asked.nextEvent()]).to.deep.equal([
      "watch demo/a",
      "refresh demo/a",
    ]);
    // Neither counts as a version, nor as something that was missed.
    expect([asked.size, gaps.size]).to.deep.equal([0, 0]);
  });
});
