import { randomBytes } from "node:crypto";
import { systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import { OwnerLease, type Lease } from "../lease/owner-lease.js";
import { needsRedisServer, RedisServer } from "../redis-server.fixture.js";
import { codeOf, Stops, TestReplica } from "../replica.fixture.js";
import { unlimitedRoom } from "./unlimited-room.fixture.js";
import { RecordCodec } from "./record-codec.js";
import { RecordKeys } from "./record-keys.js";
import { Records } from "./records.js";
import type { TopicRecord } from "./topic-record.js";

const topic = "demo/flags";

function version(resourceVersion: number, epoch = 1, text = ""): TopicRecord {
  const document = { flags: { f: { state: `v${resourceVersion}${text}` } } };
  return { topic, kind: "document", epoch, resourceVersion: String(resourceVersion), document };
}

describe("Records", () => {
  let server: RedisServer;
  const stops = new Stops();
  before(async function () {
    needsRedisServer(this);
    server = await RedisServer.start();
  });
  after(() => RedisServer.stop(server));
  beforeEach(() => server.command("FLUSHALL"));
  afterEach(() => stops.stop());

  async function replica(holder: string) {
    const { connection, keys } = stops.add(
      // On a full machine, Redis may get no time for a second.
      await TestReplica.connected({ address: server.address, commandTimeoutMs: 5_000 }),
    );
    const codec = new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom);
    const records = new Records({
      connection,
      keys,
      codec,
      shards: 4,
      announcements: 10,
      clock: systemClock,
    });
    const ownerLease = new OwnerLease({ connection, keys, holder, leaseMs: 60_000, clock: systemClock });
    return { records, ownerLease };
  }

  async function held(ownerLease: OwnerLease): Promise<Lease> {
    return (await ownerLease.acquire()) ?? expect.fail("another one has it");
  }

  it("reads in one replica what another wrote, and nothing where nothing was written", async () => {
    const [a, b] = [await replica("a"), await replica("b")];
    const lease = await held(a.ownerLease);
    await a.records.write(version(7), lease);
    const stored = await b.records.read(topic);
    expect(stored?.record).to.deep.equal(version(7));
    expect(stored?.fence).to.equal(lease.fence);
    expect(stored?.confirmedAgoMs).to.be.within(0, 60_000);
    expect(await b.records.read("demo/other")).to.equal(undefined);
  });

  it("refuses an older version, and takes an equal one and a later epoch", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    await records.write(version(10), lease);
    expect(await codeOf(records.write(version(9), lease))).to.equal("VERSION_OLDER");
    await records.write(version(10), lease);
    await records.write(version(2, 5), lease);
    expect(await codeOf(records.write(version(100, 4), lease))).to.equal("VERSION_OLDER");
    expect((await records.read(topic))?.record).to.deep.equal(version(2, 5));
  });

  it("compares versions that are beyond the numbers of Lua", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    const at = (resourceVersion: string): TopicRecord => ({ ...version(1), resourceVersion });
    await records.write(at("9223372036854775807"), lease);
    expect(await codeOf(records.write(at("9223372036854775806"), lease))).to.equal("VERSION_OLDER");
    await records.write(at("9223372036854775808"), lease);
  });

  it("refuses an owner whose lease another replica has, whatever it writes", async () => {
    const [a, b] = [await replica("a"), await replica("b")];
    const old = await held(a.ownerLease);
    await a.records.write(version(1), old);
    await server.command("DEL", "bunting:2:lease");
    const lease = await held(b.ownerLease);
    expect(await codeOf(a.records.write(version(2), old))).to.equal("FENCED");
    expect(await codeOf(a.records.confirm([version(1)], old))).to.equal("FENCED");
    await b.records.write(version(3), lease);
    expect(await codeOf(a.records.write(version(4, 9), old))).to.equal("FENCED");
    expect((await b.records.read(topic))?.record).to.deep.equal(version(3));
  });

  it("refuses an owner whose lease has ended and nobody has, until it takes it again", async () => {
    const { records, ownerLease } = await replica("a");
    const old = await held(ownerLease);
    await server.command("DEL", "bunting:2:lease");
    expect(await codeOf(records.write(version(1), old))).to.equal("FENCED");
    await records.write(version(1), await held(ownerLease));
  });

  it("refuses a lease that is older than the one the topic was written under: a failover may bring it back", async () => {
    const [a, b] = [await replica("a"), await replica("b")];
    const earlier = await held(a.ownerLease);
    await a.ownerLease.release(earlier);
    const later = await held(b.ownerLease);
    await b.records.write(version(5), later);
    await server.command("HSET", "bunting:2:lease", "holder", "a", "fence", String(earlier.fence));
    expect(await codeOf(a.records.write(version(6), earlier))).to.equal("FENCED");
    expect(await a.records.confirm([version(5)], earlier)).to.deep.equal([topic]);
  });

  it("confirms what is unchanged, and names what has to be written again", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    await records.write(version(1), lease);
    await server.command("HSET", "bunting:2:record:demo/flags", "confirmed", "1000");
    expect((await records.read(topic))?.confirmedAgoMs).to.be.greaterThan(1e9);
    await ownerLease.release(lease);
    const next = await held(ownerLease);
    const gone: TopicRecord = { ...version(1), topic: "demo/gone" };
    expect(await records.confirm([version(1), gone], next)).to.deep.equal(["demo/gone"]);
    const stored = await records.read(topic);
    expect(stored?.confirmedAgoMs).to.be.lessThan(60_000);
    expect(stored?.fence).to.equal(next.fence);
    expect(await records.confirm([version(2)], next)).to.deep.equal([topic]);
  });

  it("keeps records of names that do not exist for an hour only", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    await records.write({ topic, kind: "missing", epoch: 1, resourceVersion: "5" }, lease);
    expect(await server.command("PTTL", "bunting:2:record:demo/flags")).to.be.within(1, 3_600_000);
    await records.write(version(6), lease);
    expect(await server.command("PTTL", "bunting:2:record:demo/flags")).to.be.greaterThan(3_600_000);
  });

  it("reports where Redis is with many topics", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    const topics = Array.from({ length: 300 }, (_, index) => `demo/t${index}` as const);
    for (const [index, one] of topics.entries())
      if (index % 2 === 0) await records.write({ ...version(index + 1), topic: one }, lease);
    const positions = await records.positions(topics);
    expect(positions.size).to.equal(150);
    expect(positions.get("demo/t298")).to.include({ epoch: 1, resourceVersion: "299" });
    expect(positions.get("demo/t298")?.isAbsent).to.equal(false);
    for (const [index, kind] of (["missing", "deleted"] as const).entries())
      await records.write({ topic, kind, epoch: 1, resourceVersion: String(index) }, lease);
    expect((await records.positions([topic])).get(topic)?.isAbsent).to.equal(true);
    expect(positions.get("demo/t298")?.confirmedAgoMs).to.be.within(0, 60_000);
    expect(positions.has("demo/t299")).to.equal(false);
  });

  it("announces each version once, in a stream that does not grow", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    for (let number = 1; number <= 500; number++) await records.write(version(number), lease);
    const streams = (await server.command("KEYS", "bunting:2:announcements:*")) as readonly string[];
    expect(streams).to.have.length(1);
    expect(await server.command("XLEN", streams[0] ?? "")).to.be.within(10, 250);
    const [[, fields] = []] = (await server.command("XREVRANGE", streams[0] ?? "", "+", "-", "COUNT", 1)) as [
      string,
      string[],
    ][];
    expect(fields).to.deep.equal(["topic", topic, "epoch", "1", "version", "500", "number", "500"]);
  });

  it("refuses a record that someone changed in Redis", async () => {
    const { records, ownerLease } = await replica("a");
    await records.write(version(1), await held(ownerLease));
    const key = "bunting:2:record:demo/flags";
    await server.command("HSET", key, "version", "2");
    expect(await codeOf(records.read(topic))).to.equal("RECORD_MALFORMED");
    await server.command("HSET", key, "version", "1", "body", "something else");
    expect(await codeOf(records.read(topic))).to.equal("RECORD_MALFORMED");
    await server.command("HSET", key, "body", Buffer.alloc(1_000_000));
    expect(await codeOf(records.read(topic))).to.equal("RECORD_TOO_LARGE");
    await server.command("DEL", key);
    await server.command("SET", key, "a text");
    expect(await codeOf(records.read(topic))).to.equal("RECORD_MALFORMED");
  });

  it("goes on with all other records where something else is under the key of one", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    await records.write(version(1), lease);
    await server.command("SET", "bunting:2:record:demo/other", "a text");
    const other = { ...version(1), topic: "demo/other" } as const;
    expect([...(await records.positions([other.topic, topic])).keys()]).to.deep.equal([topic]);
    expect(await records.confirm([other, version(1)], lease)).to.deep.equal([other.topic]);
  });

  it("neither reads nor lists a record of an epoch that nobody can have begun, and overwrites it: none comes after it", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    await records.write(version(1, lease.fence + 1), lease);
    expect((await records.positions([topic])).size).to.equal(1);
    await records.write(version(1, Number.MAX_SAFE_INTEGER), lease);
    expect(await codeOf(records.read(topic))).to.equal("RECORD_MALFORMED");
    expect((await records.positions([topic])).size).to.equal(0);
    await records.write(version(2), lease);
    expect((await records.read(topic))?.record).to.deep.equal(version(2));
  });

  for (const [field, value] of [
    ["fence", "1e300"],
    ["fence", "9007199254740990"],
    ["epoch", "a word"],
    ["epoch", "9007199254740991"],
    ["version", "9".repeat(1_000)],
    ["kind", "x".repeat(20_000_000)],
  ] as const)
    it(`overwrites a record whose ${field} no replica has written: ${value.slice(0, 20)}`, async () => {
      const { records, ownerLease } = await replica("a");
      const lease = await held(ownerLease);
      await records.write(version(1), lease);
      await server.command("HSET", "bunting:2:record:demo/flags", field, value);
      // No answer is longer for it: that would end the connection each time.
      if (value.length > 300) expect(await codeOf(records.read(topic))).to.equal("RECORD_MALFORMED");
      await records.write(version(2), lease);
      expect((await records.read(topic))?.record).to.deep.equal(version(2));
    });

  it("does not have Redis copy a field that is longer than any of ours, which would keep it from all else", async () => {
    const { records, ownerLease } = await replica("a");
    const lease = await held(ownerLease);
    await records.write(version(1), lease);
    await server.command("HSET", "bunting:2:record:demo/flags", "kind", "x".repeat(20_000_000));
    const reads = async (): Promise<number> =>
      Number(/cmdstat_hmget:calls=(\d+)/.exec(String(await server.command("INFO", "commandstats")))?.[1]);
    const before = await reads();
    await records.write(version(2), lease);
    // The fields of the lease, and not those of the record.
    expect((await reads()) - before).to.equal(1);
  });
});

describe("Records that are large", () => {
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  afterEach(() => stops.stop());

  it("are read one after the other, because their bytes are outside of the heap", async () => {
    const server = stops.add(await RedisServer.start());
    const { connection, keys } = stops.add(await TestReplica.connected({ address: server.address }));
    const codec = new RecordCodec(1_000_000, () => RecordKeys.none, unlimitedRoom);
    let [atOnce, most] = [0, 0];
    const counting: Pick<typeof connection, "evaluate"> = {
      evaluate: async (script, names, args) => {
        const isLarge = Number(args[0]) > 1_000_000;
        atOnce += Number(isLarge);
        most = Math.max(most, atOnce);
        try {
          return await connection.evaluate(script, names, args);
        } finally {
          atOnce -= Number(isLarge);
        }
      },
    };
    const records = new Records({
      connection: counting,
      keys,
      codec,
      shards: 4,
      announcements: 10,
      clock: systemClock,
    });
    const ownerLease = new OwnerLease({ connection, keys, holder: "a", leaseMs: 60_000, clock: systemClock });
    const lease = (await ownerLease.acquire()) ?? expect.fail("it is new");
    const topics = ["demo/a", "demo/b", "demo/c", "demo/d"] as const;
    const noise = randomBytes(400_000).toString("hex");
    const large = topics.map((name) => ({ ...version(1, 1, noise), topic: name }));
    for (const record of large) await records.write(record, lease);
    const stored = await Promise.all(topics.map((name) => records.read(name)));
    expect(stored.map((one) => one?.record)).to.deep.equal(large);
    expect(most).to.equal(1);
  });
});

describe("A record after a restart of Redis", () => {
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  afterEach(() => stops.stop());

  it("is there where Redis saves to its disk, and the lease and its number as well", async () => {
    const server = stops.add(await RedisServer.start("--appendonly", "yes", "--appendfsync", "always"));
    const replica = stops.add(await TestReplica.connected({ address: server.address }));
    const codec = new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom);
    const { connection, keys } = replica;
    const records = new Records({
      connection,
      keys,
      codec,
      shards: 1,
      announcements: 10,
      clock: systemClock,
    });
    const ownerLease = new OwnerLease({ connection, keys, holder: "a", leaseMs: 60_000, clock: systemClock });
    const lease = (await ownerLease.acquire()) ?? expect.fail("it is new");
    await records.write(version(1), lease);
    await server.kill();
    await replica.next(false);
    await server.restart();
    await replica.next(true);
    await eventually(() => replica.connection.isUp, "the connection");
    await records.write(version(2), lease);
    expect((await records.read(topic))?.record).to.deep.equal(version(2));
  });
});
