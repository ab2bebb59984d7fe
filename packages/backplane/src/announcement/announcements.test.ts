import { setMaxListeners } from "node:events";
import { systemClock } from "@bunting/runtime";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { FaultProxy } from "@bunting/test/support/fault-proxy.js";
import { expect } from "chai";
import { checkOptions, type BackplaneOptions } from "../backplane-options.js";
import { OwnerLease, type Lease } from "../lease/owner-lease.js";
import { unlimitedRoom } from "../record/unlimited-room.fixture.js";
import { RecordCodec } from "../record/record-codec.js";
import { RecordKeys } from "../record/record-keys.js";
import { Records } from "../record/records.js";
import { shardOf } from "../record/shard-of.js";
import type { StoredRecord, TopicRecord } from "../record/topic-record.js";
import { needsRedisServer, SharedRedis, type RedisServer } from "../redis-server.fixture.js";
import { Stops, TestReplica } from "../replica.fixture.js";
import { AnnouncementReader } from "./announcement-reader.js";
import { Follower, type FollowerSink } from "./follower.js";

const topic = "demo/flags";

function version(number: number, epoch = 1, of: TopicRecord["topic"] = topic): TopicRecord {
  const document = { flags: { f: { state: `v${number}` } } };
  return { topic: of, kind: "document", epoch, resourceVersion: String(number), document };
}

/** The reports of a follower, as texts. */
class RecordingSink implements FollowerSink {
  isUnconfirmed = false;
  isRefusing = false;
  readonly events = new EventQueue<string>();
  readonly versions: string[] = [];
  readonly confirmations: number[] = [];

  record({ record }: StoredRecord): boolean {
    this.versions.push(record.resourceVersion);
    this.events.push(record.resourceVersion);
    return !this.isRefusing;
  }
  confirmed(agoMs: number): void {
    this.confirmations.push(agoMs);
  }
  absent(): void {
    this.events.push("absent");
  }
  refused({ code }: { readonly code: string }): void {
    this.events.push(code);
  }
}

describe("Announcements", () => {
  let server: RedisServer;
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  const shared = new SharedRedis();
  beforeEach(async () => {
    server = await shared.next();
  });
  afterEach(() => stops.stop());
  after(() => shared.stop());

  async function start(options: Partial<BackplaneOptions> = {}) {
    const replica = stops.add(
      await TestReplica.connected({ address: server.address, shards: 4, compareMs: 600_000, ...options }),
    );
    const { connection, keys } = replica;
    const codec = new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom);
    const records = new Records({
      clock: systemClock,
      connection,
      keys,
      codec,
      shards: 4,
      announcements: replica.options.announcements,
    });
    return { replica, records };
  }

  async function startOwner() {
    const { replica, records } = await start({ announcements: 1 });
    const { connection, keys } = replica;
    const ownerLease = new OwnerLease({
      connection,
      keys,
      holder: "owner",
      leaseMs: 600_000,
      clock: systemClock,
    });
    const take = async (): Promise<Lease> => (await ownerLease.acquire()) ?? expect.fail("it is held");
    let lease = await take();
    return {
      retake: async () => {
        lease = await take();
      },
      write: (number: number, epoch = 1, of: TopicRecord["topic"] = topic) =>
        records.write(version(number, epoch, of), lease),
    };
  }

  /** @param readerAddress where announcements are read, if that is another way to Redis */
  async function startFollower(options: Partial<BackplaneOptions> = {}, readerAddress?: string) {
    const { replica, records } = await start(options);
    const readerOptions =
      readerAddress === undefined
        ? replica.options
        : checkOptions({ ...options, shards: 4, compareMs: 600_000, address: readerAddress });
    const { compareMs } = replica.options;
    const follower = new Follower({ records, room: unlimitedRoom, compareMs, clock: systemClock });
    const gaps = new EventQueue<string>();
    const reader = new AnnouncementReader({
      ...{
        options: readerOptions,
        keys: replica.keys,
        context: { logger: replica.logger, clock: systemClock },
      },
      onAnnounced: (announced, position) => follower.announced(announced, position),
      onGap: () => {
        gaps.push("gap");
        follower.compare();
      },
    });
    replica.run((signal) => Promise.all([follower.run(signal), reader.run(signal)]));
    const isRead = (): boolean => reader.failure === undefined;
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const follow = (
      of: TopicRecord["topic"] = topic,
      held?: { epoch: number; resourceVersion: string },
    ): RecordingSink => {
      const sink = new RecordingSink();
      follower.follow(of, sink, leaving.signal, held);
      return sink;
    };
    // Announcements are read from now on.
    await gaps.nextEvent("the first look");
    return { follow, gaps, leaving, follower, replica, reader, isRead };
  }

  it("bring each version to followers, in order, without a comparison", async () => {
    const owner = await startOwner();
    const { follow } = await startFollower();
    const sink = follow();
    expect(await sink.events.nextEvent()).to.equal("absent");
    for (const number of [1, 2, 10]) {
      await owner.write(number);
      expect(await sink.events.nextMatching((event) => event !== "absent")).to.equal(String(number));
    }
    await owner.write(3, 2);
    expect(await sink.events.nextEvent()).to.equal("3");
  });

  it("come of all other streams where something else is under the keys of one", async () => {
    const owner = await startOwner();
    const broken = (shardOf(topic, 4) + 1) % 4;
    await server.command("SET", `bunting:2:announcements:${broken}`, "a text");
    const { follow, replica } = await startFollower();
    const sink = follow();
    await owner.write(1);
    expect(await sink.events.nextMatching((event) => event !== "absent")).to.equal("1");
    expect(replica.lines.join()).to.contain("keys of announcements hold something else than a stream");
  });

  it("go on after some that are too large to be read", async () => {
    const owner = await startOwner();
    const { follow, gaps, isRead } = await startFollower({
      maxDocumentBytes: 1_024,
      commandTimeoutMs: 5_000,
    });
    const sink = follow();
    const stream = `bunting:2:announcements:${shardOf(topic, 4)}`;
    for (let entry = 0; entry < 3; entry++)
      await server.command("XADD", stream, "*", "topic", "x".repeat(100_000));
    await owner.write(1);
    expect(await sink.events.nextMatching((event) => event !== "absent")).to.equal("1");
    await eventually(async () => {
      await owner.write(2);
      return sink.versions.includes("2") && isRead();
    }, "a version that was announced afterwards");
    // Then many are read at once again, not one by one.
    const reads = async (): Promise<number> =>
      Number(/cmdstat_xread:calls=(\d+)/.exec(String(await server.command("INFO", "commandstats")))?.[1]);
    const before = await reads();
    while (gaps.size > 0) await gaps.nextEvent();
    const flood = `for entry = 1, 200 do
      redis.call('XADD', KEYS[1], '*', 'topic', '', 'number', entry < 200 and redis.call('INCR', KEYS[2]) or 0)
    end`;
    await server.command("EVAL", flood, 2, stream, stream.replace("announcements", "announced"));
    await gaps.nextEvent("the last of them, which is of another number");
    expect((await reads()) - before).to.be.lessThan(50);
  });

  it("start with what Redis holds already", async () => {
    const owner = await startOwner();
    await owner.write(5);
    const { follow } = await startFollower();
    expect(await follow().events.nextEvent()).to.equal("5");
  });

  it("report nothing that is not newer than what the follower has", async () => {
    const owner = await startOwner();
    await owner.write(5);
    const { follow } = await startFollower();
    const [same, newer, older] = [
      follow(topic, { epoch: 1, resourceVersion: "5" }),
      follow("demo/newer", { epoch: 1, resourceVersion: "6" }),
      follow("demo/older", { epoch: 1, resourceVersion: "4" }),
    ];
    for (const of of ["demo/newer", "demo/older"] as const) await owner.write(5, 1, of);
    expect(await older.events.nextMatching((event) => event !== "absent")).to.equal("5");
    await eventually(() => same.confirmations.length > 0, "the confirmation");
    await owner.write(7, 1, "demo/newer");
    expect(await newer.events.nextMatching((event) => event !== "absent")).to.equal("7");
    expect([same.versions, newer.versions]).to.deep.equal([[], ["7"]]);
  });

  it("of a version that is held already bring its confirmation to who waits for one", async () => {
    const owner = await startOwner();
    await owner.write(5);
    const { follow, follower } = await startFollower();
    const [waiting, content] = [follow(), follow("demo/content")];
    await waiting.events.nextMatching((event) => event === "5");
    waiting.isUnconfirmed = true;
    await owner.write(5);
    await eventually(() => waiting.confirmations.length === 1, "the confirmation");
    expect(waiting.versions).to.deep.equal(["5"]);
    await follower.compareUnconfirmed();
    expect(waiting.confirmations).to.have.length(2);
    waiting.isUnconfirmed = false;
    await follower.compareUnconfirmed();
    await owner.write(6);
    await waiting.events.nextMatching((event) => event === "6");
    expect(waiting.confirmations).to.have.length(2);
    expect(content.confirmations).to.deep.equal([]);
  });

  it("of a version that was not taken are reported again when versions are compared", async () => {
    const owner = await startOwner();
    await owner.write(5);
    const { follow, follower } = await startFollower();
    const sink = follow();
    sink.isRefusing = true;
    expect(await sink.events.nextEvent()).to.equal("5");
    follower.compare();
    expect(await sink.events.nextEvent()).to.equal("5");
    sink.isRefusing = false;
    follower.compare();
    expect(await sink.events.nextEvent()).to.equal("5");
    follower.compare();
    await eventually(() => sink.confirmations.length === 1, "the confirmation");
  });

  it("end at the last of many versions, whatever is left out between", async () => {
    const owner = await startOwner();
    const { follow } = await startFollower();
    const sinks = Array.from({ length: 40 }, (_, index) => follow(`demo/f${index}`));
    // Those of one topic one after the other: an owner that overtakes itself is refused.
    const writeAll = async (index: number): Promise<void> => {
      for (let number = 1; number <= 25; number++) await owner.write(number, 1, `demo/f${index}`);
    };
    await Promise.all(sinks.map((_, index) => writeAll(index)));
    for (const { events, versions } of sinks) {
      await events.nextMatching((event) => event === "25", "the last version");
      expect(versions.map(Number)).to.deep.equal([...versions].map(Number).sort((a, b) => a - b));
      expect(new Set(versions).size).to.equal(versions.length);
    }
  });

  it("that are lost cost no more than the time to the next comparison", async () => {
    const owner = await startOwner();
    const { follow, gaps } = await startFollower({ compareMs: 100 });
    const sink = follow();
    await owner.write(1);
    await sink.events.nextMatching((event) => event === "1");
    // As if the announcement was lost: the record changes, and nothing is announced.
    await server.command("HSET", "bunting:2:record:demo/flags", "version", "9", "epoch", "1");
    expect(await sink.events.nextMatching((event) => event !== "absent")).to.equal("RECORD_MALFORMED");
    expect(gaps.size).to.equal(0);
  });

  it("that can't be read, while Redis can be reached otherwise, cost no more than the time to the next attempt", async () => {
    const owner = await startOwner();
    const proxy = await FaultProxy.start(server.port);
    stops.later(() => proxy.close());
    const quick = { connectTimeoutMs: 200, commandTimeoutMs: 200 };
    const { follow, reader, isRead } = await startFollower(quick, `redis://127.0.0.1:${proxy.port}`);
    const sink = follow();
    await owner.write(1);
    await sink.events.nextMatching((event) => event === "1");
    expect(isRead()).to.equal(true);
    proxy.blackhole(true);
    proxy.cut();
    for (const number of [2, 3]) {
      await owner.write(number);
      await sink.events.nextMatching((event) => event === String(number));
    }
    // The other connection works, so only this one can say it.
    expect(reader.failure?.code).to.be.oneOf(["REDIS_TIMEOUT", "REDIS_AWAY"]);
    proxy.blackhole(false);
    await owner.write(4);
    await eventually(isRead, "announcements that are read");
  });

  it("that were trimmed away before they were read are noticed", async () => {
    const owner = await startOwner();
    await owner.write(1);
    const proxy = await FaultProxy.start(server.port);
    stops.later(() => proxy.close());
    const { follow, gaps } = await startFollower({
      address: `redis://127.0.0.1:${proxy.port}`,
      connectTimeoutMs: 200,
      commandTimeoutMs: 200,
    });
    const sink = follow();
    await sink.events.nextMatching((event) => event === "1");
    proxy.blackhole(true);
    proxy.cut();
    for (let number = 2; number <= 300; number++) await owner.write(number);
    proxy.blackhole(false);
    await gaps.nextEvent("a gap");
    expect(await sink.events.nextMatching((event) => event === "300")).to.equal("300");
  });

  it("go on where the stream was emptied", async () => {
    const owner = await startOwner();
    const { follow, gaps } = await startFollower();
    const sink = follow();
    for (let number = 1; number <= 3; number++) await owner.write(number);
    await sink.events.nextMatching((event) => event === "3");
    await server.command("FLUSHALL");
    await owner.retake();
    await owner.write(4);
    await gaps.nextEvent("a gap");
    expect(await sink.events.nextMatching((event) => event === "4")).to.equal("4");
    await owner.write(5);
    expect(await sink.events.nextMatching((event) => event === "5")).to.equal("5");
  });

  it("go on where Redis was killed and came back empty, and nobody goes backwards", async () => {
    const owner = await startOwner();
    const { follow, gaps, follower, replica } = await startFollower();
    const sink = follow();
    await owner.write(9);
    await sink.events.nextMatching((event) => event === "9");
    await server.kill();
    await server.restart();
    await eventually(
      () =>
        owner.retake().then(
          () => true,
          () => false,
        ),
      "the lease",
    );
    await owner.write(3);
    await owner.write(4, 2);
    await gaps.nextEvent("a gap");
    // That the reader is back does not say that the other connection is: whoever has it compares once it is.
    await replica.next(true);
    follower.compare();
    expect(await sink.events.nextMatching((event) => event === "4")).to.equal("4");
    expect(sink.versions).to.deep.equal(["9", "4"]);
  });

  it("go on where the Redis that answers next has a clock that is behind", async () => {
    const owner = await startOwner();
    const { follow, gaps, isRead, replica } = await startFollower();
    const sink = follow();
    await owner.write(9);
    await sink.events.nextMatching((event) => event === "9");
    const stream = `bunting:2:announcements:${shardOf(topic, 4)}`;
    await server.command("XADD", stream, `${Date.now() + 3_600_000}-0`, "topic", topic, "number", "7");
    await gaps.nextEvent("a gap");
    await server.kill();
    await eventually(() => !isRead(), "that it is noticed");
    await server.restart();
    const isTaken = (): Promise<boolean> =>
      owner.retake().then(
        () => true,
        () => false,
      );
    await eventually(isTaken, "the lease");
    await owner.write(9);
    await eventually(isRead, "that announcements are read again");
    // Records are read over the other connection.
    await replica.next(true);
    await owner.write(10);
    expect(await sink.events.nextMatching((event) => event === "10")).to.equal("10");
  });

  it("end for a topic that is left", async () => {
    const owner = await startOwner();
    const { follow, leaving, follower } = await startFollower();
    const sink = follow();
    await owner.write(1);
    await sink.events.nextMatching((event) => event === "1");
    leaving.abort();
    await owner.write(2);
    await owner.write(1, 1, "demo/other");
    const other = new RecordingSink();
    const leavingOther = new AbortController();
    stops.later(() => leavingOther.abort());
    follower.follow("demo/other", other, leavingOther.signal);
    await other.events.nextMatching((event) => event === "1");
    follower.compare();
    await eventually(() => other.confirmations.length > 0, "the comparison");
    expect(sink.versions).to.deep.equal(["1"]);
    expect(follow().versions).to.deep.equal([]);
  });

  it("report that a record is not to be trusted, and go on with the next that is", async () => {
    const owner = await startOwner();
    await owner.write(1);
    await server.command("HSET", "bunting:2:record:demo/flags", "body", "anything");
    const { follow } = await startFollower();
    const sink = follow();
    expect(await sink.events.nextEvent()).to.equal("RECORD_MALFORMED");
    await owner.write(2);
    expect(await sink.events.nextMatching((event) => event === "2")).to.equal("2");
  });

  it("have a record that can't be used read again, and looking for confirmations does not", async () => {
    const owner = await startOwner();
    await owner.write(1);
    await server.command("HSET", "bunting:2:record:demo/flags", "body", "anything");
    const { follow, follower } = await startFollower();
    const sink = follow();
    sink.isUnconfirmed = true;
    expect(await sink.events.nextEvent()).to.equal("RECORD_MALFORMED");
    for (let times = 0; times < 3; times++) await follower.compareUnconfirmed();
    await owner.write(2);
    expect(await sink.events.nextEvent()).to.equal("2");
  });
});
