import { writeFileSync } from "node:fs";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FaultProxy } from "@bunting/test/support/fault-proxy.js";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { OwnerLease } from "../lease/owner-lease.js";
import { needsRedisServer, RedisServer } from "../redis-server.fixture.js";
import { Stops, TestReplica } from "../replica.fixture.js";

describe("RedisConnection by way of Sentinels", () => {
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  afterEach(() => stops.stop());

  /** A Sentinel that knows a master, and decides alone. */
  async function sentinelOf(master: RedisServer, ...lines: readonly string[]): Promise<RedisServer> {
    const files = stops.add(await RedisServer.start()).directory;
    const config = files.file("sentinel.conf");
    writeFileSync(
      config,
      [
        `sentinel monitor main 127.0.0.1 ${master.port} 1`,
        "sentinel down-after-milliseconds main 300",
        "sentinel failover-timeout main 3000",
        ...lines,
        "",
      ].join("\n"),
    );
    return stops.add(await RedisServer.startSentinel(config));
  }

  it("finds the master, and the next one after a failover", async () => {
    const first = stops.add(await RedisServer.start());
    const second = stops.add(await RedisServer.start("--replicaof", "127.0.0.1", String(first.port)));
    const sentinel = await sentinelOf(first);
    const address = `redis+sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port}/main`;
    const replica = stops.add(
      await TestReplica.connected({ address, connectTimeoutMs: 1_000, commandTimeoutMs: 500 }),
    );
    const { connection, keys } = replica;
    const ownerLease = new OwnerLease({ connection, keys, holder: "a", leaseMs: 60_000, clock: systemClock });
    const before = await ownerLease.acquire();
    await eventually(async () => (await second.command("EXISTS", keys.lease)) === 1, "the replication");
    await eventually(
      async () => ((await sentinel.command("SENTINEL", "REPLICAS", "main")) as unknown[]).length === 1,
      "the replica",
    );

    await first.kill();
    await replica.next(false);
    await replica.next(true);
    expect(String(((await connection.call("ROLE", [])) as unknown[])[0])).to.equal("master");
    const after = await ownerLease.acquire();
    expect(after?.fence).to.be.a("number").that.equals(before?.fence);
    expect(await second.command("HGET", keys.lease, "holder")).to.equal("a");
  });

  it("asks the next Sentinel where one accepts connections and says nothing, or can't be reached", async () => {
    const sentinel = await sentinelOf(stops.add(await RedisServer.start()));
    const silent = await FaultProxy.start(sentinel.port);
    stops.later(() => silent.close());
    silent.blackhole(true);
    const hosts = [silent.port, 1, sentinel.port].map((port) => `127.0.0.1:${port}`).join(",");
    const address = `redis+sentinel://${hosts}/main`;
    await TestReplica.connected({ address, connectTimeoutMs: 600 }).then((replica) => stops.add(replica));
  });

  it("has no connection, and says why, where no Sentinel knows the master", async () => {
    const sentinel = await sentinelOf(stops.add(await RedisServer.start()));
    const address = `redis+sentinel://127.0.0.1:${sentinel.port}/other`;
    const replica = stops.add(new TestReplica({ address, connectTimeoutMs: 1_000 }));
    await eventually(() => replica.lines.some((line) => line.includes("REDIS_AWAY")), "the reason");
    expect(replica.lines.join()).to.match(/entinel/);
    expect(replica.connection.isUp).to.equal(false);
  });

  it("says which option is wrong where a Sentinel refuses, or is a Redis, or is named as one", async () => {
    const redis = stops.add(await RedisServer.start());
    const sentinel = await sentinelOf(redis, "requirepass secret");
    const open = await sentinelOf(redis);
    const expected = {
      [`redis+sentinel://127.0.0.1:${sentinel.port}/main`]: "set --backplane-sentinel-password-file",
      [`redis+sentinel://127.0.0.1:${redis.port}/main`]: "it is a Redis: name Sentinels",
      [`redis://127.0.0.1:${open.port}`]: "what answers is a Sentinel: write redis+sentinel://",
    };
    for (const [address, message] of Object.entries(expected)) {
      const replica = stops.add(new TestReplica({ address, connectTimeoutMs: 1_000 }));
      await eventually(() => replica.lines.join().includes(message), message);
    }
  });
});
