import { writeFileSync } from "node:fs";
import { systemClock } from "@bunting/runtime";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { AnnouncementReader } from "./announcement/announcement-reader.js";
import { Interest } from "./interest/interest.js";
import { OwnerLease } from "./lease/owner-lease.js";
import { Membership } from "./membership/membership.js";
import { unlimitedRoom } from "./record/unlimited-room.fixture.js";
import { RecordCodec } from "./record/record-codec.js";
import { RecordKeys } from "./record/record-keys.js";
import { Records } from "./record/records.js";
import type { TopicRecord } from "./record/topic-record.js";
import { needsRedisServer, RedisServer } from "./redis-server.fixture.js";
import { Stops, TestReplica } from "./replica.fixture.js";

/** As in ADR 12. */
const commands =
  "role client|setname select eval evalsha time get set del incr pttl pexpire hget hmget hset hstrlen xadd xread xrevrange zadd zrem zremrangebyscore zrange zcard zscore";

describe("A user of Redis with no more rights than the backplane needs", () => {
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  afterEach(() => stops.stop());

  for (const [what, ...rules] of [
    ["the keys of beats only", "~bunting:2:members", "+@all"],
    ["all keys but those of announcements", "~bunting:2:[!a]*", "+@all"],
    ...["set", "incr", "hset", "pexpire", "xadd", "xread", "hstrlen", "zscore", "del"].map(
      (command) => [`all commands but ${command}`, "~bunting:*", "+@all", `-${command}`] as const,
    ),
  ] as const)
    it(`is no member with ${what}, for it could own nothing`, async () => {
      const server = stops.add(await RedisServer.start());
      await server.command("ACL", "SETUSER", "default", "reset", "on", "nopass", "~*", "+@all");
      const replica = stops.add(await TestReplica.connected({ address: server.address }));
      await server.command("ACL", "SETUSER", "default", "resetkeys", ...rules);
      const { connection, keys } = replica;
      const membership = new Membership({
        ...{ connection, keys, clock: systemClock, member: "a", memberMs: 60_000 },
      });
      const denied = await membership.beat().catch((error: unknown) => error);
      expect(denied).to.have.property("code", "REDIS_DENIED");
      await server.command("ACL", "SETUSER", "default", "~*", "+@all");
      expect(await server.command("EXISTS", keys.members)).to.equal(0);
      await membership.beat();
      expect(await server.command("KEYS", "*")).to.deep.equal([keys.members]);
    });

  it("can do everything that replicas do, and reads no other keys", async () => {
    const rights = commands.split(" ").map((command) => `+${command}`);
    const user = ["--user", "app", "on", ">secret", "~bunting:*", "-@all", ...rights];
    const server = stops.add(await RedisServer.start(...user));
    const files = new TempDirectory();
    stops.later(() => files.remove());
    for (const [name, content] of [
      ["user", "app"],
      ["password", "secret"],
    ] as const)
      writeFileSync(files.file(name), content);
    const replica = stops.add(
      await TestReplica.connected({
        address: `${server.address}/2`,
        userFile: files.file("user"),
        passwordFile: files.file("password"),
      }),
    );
    const { connection, keys, options, logger } = replica;
    const clock = systemClock;
    const announced = new EventQueue<string>();
    const gaps = new EventQueue<string>();
    const reader = new AnnouncementReader({
      ...{ options, keys, context: { logger, clock } },
      onAnnounced: (topic) => announced.push(topic),
      onGap: () => gaps.push("gap"),
    });
    replica.run((signal) => reader.run(signal));
    await gaps.nextEvent("the first look");

    const membership = new Membership({
      ...{ connection, keys, clock, member: "a", memberMs: 60_000 },
    });
    await membership.beat();
    const ownerLease = new OwnerLease({ connection, keys, holder: "a", leaseMs: 60_000, clock });
    const acquired = (await ownerLease.acquire()) ?? expect.fail("it is new");
    const other = new OwnerLease({ connection, keys, holder: "b", leaseMs: 60_000, clock });
    expect(await other.acquire()).to.equal(undefined);
    const lease = (await ownerLease.renew(acquired)) ?? expect.fail("it is held");
    const records = new Records({
      ...{ connection, keys, clock, shards: options.shards, announcements: 10 },
      codec: new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom),
    });
    const record: TopicRecord = { topic: "demo/a", kind: "missing", epoch: 1, resourceVersion: "1" };
    await records.write(record, lease);
    expect(await announced.nextEvent()).to.equal("demo/a");
    const interest = new Interest({ ...{ connection, keys, wantedMs: 60_000 }, ...options });
    await interest.ask("demo/a", "watch");
    await interest.mention(["demo/b"]);
    expect(await interest.list()).to.have.members(["demo/a", "demo/b"]);
    expect(await records.confirm([record], lease)).to.deep.equal([]);
    expect((await records.read("demo/a"))?.record).to.deep.equal(record);
    expect((await records.positions(["demo/a"])).size).to.equal(1);
    expect(await ownerLease.release(lease)).to.equal(true);
    const left = new AbortController();
    const beating = membership.run(left.signal);
    left.abort();
    await beating;
    expect(membership.members).to.deep.equal([]);

    const denied = await connection.call("GET", ["other"]).catch((error: unknown) => error);
    expect(denied).to.have.property("code", "REDIS_DENIED");
  });
});
