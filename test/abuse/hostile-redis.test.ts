import { LyingRedis } from "@bunting/backplane/internal/connection/lying-redis.fixture.js";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { Stops } from "@bunting/backplane/internal/replica.fixture.js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { Replica } from "../support/replica.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { Vitals } from "./support/vitals.js";

/** Arrays in arrays of which each takes 264 MB as soon as it is announced. */
const largeArrays = "*33000000\r\n".repeat(100);

describe("bunting-proxy and what answers in place of Redis", () => {
  const stops = new Stops();
  afterEach(() => stops.stop());

  async function startOn(backplane: string): Promise<Replica> {
    const api = await FaultyApiServer.start();
    stops.later(() => api.close());
    api.put("demo", "flags", { flagSpec: { flags: { f: { state: "ENABLED" } } } });
    // Nothing of it is used where the address is another one.
    const replica = await Replica.start({ name: "replica", api, redisPort: 1, backplane });
    stops.later(() => replica.stop().then(() => undefined));
    return replica;
  }

  for (const [what, scheme, path] of [
    ["Redis", "redis", ""],
    ["a Sentinel", "redis+sentinel", "/main"],
  ] as const)
    it(`serves its flags where arrays without end are announced in place of ${what}, in the memory that it has`, async () => {
      const lying = stops.add(await LyingRedis.start((socket) => socket.write(largeArrays), false));
      const replica = await startOn(`${scheme}://127.0.0.1:${lying.port}${path}`);
      const vitals = new Vitals(replica.proxy.process.pid);
      stops.later(() => vitals.stop());
      const client = new StockSyncClient(replica.proxy.sync);
      stops.later(() => client.close());
      const { flags } = await client.subscribe({ selector: "demo/flags" }).messages.nextEvent();
      expect(flags).to.have.property("f");
      const before = lying.sockets.length;
      await eventually(() => lying.sockets.length >= before + 5, "more attempts");
      vitals.expectGrowth({ below: 100, attack: 264 });
    });

  it("says what Redis refuses, also in the bundle, where classes have other names", async function () {
    needsRedisServer(this);
    const redis = stops.add(await RedisServer.start("--requirepass", "not known here"));
    const replica = await startOn(redis.address);
    const line = await replica.proxy.process.nextLog("Redis can't be used; attempts go on");
    expect(line).to.include({ code: "REDIS_DENIED" });
    expect(line["reason"]).to.contain("Redis refuses: NOAUTH Authentication required");
  });

  it("watches for itself and says why where it is given a Redis Cluster", async function () {
    needsRedisServer(this);
    const redis = stops.add(await RedisServer.start("--cluster-enabled", "yes"));
    await redis.command("CLUSTER", "ADDSLOTS", ...Array.from({ length: 16_384 }, (_, slot) => slot));
    const replica = await startOn(redis.address);
    await replica.proxy.process.nextLog("Redis refuses to work: this replica watches for itself");
    const lines = replica.proxy.process.logs.filter(({ code }) => code === "REDIS_CLUSTERED");
    expect(lines[0]?.["reason"]).to.contain("name a Redis that is by itself, or Sentinels");
    const client = new StockSyncClient(replica.proxy.sync);
    stops.later(() => client.close());
    const { flags } = await client.subscribe({ selector: "demo/flags" }).messages.nextEvent();
    expect(flags).to.have.property("f");
  });
});
