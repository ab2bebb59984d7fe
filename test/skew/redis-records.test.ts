import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { expect } from "chai";
import { ReplicatedWorld } from "../support/replicated-world.js";
import { binaryOf, type Version } from "./previous-binaries.js";

/** Three replicas on one real Redis, of which a rolling update replaces one after the other, with subscribers at each, and edits that flow. */
describe("replicas of two versions on one Redis", function () {
  this.timeout(300_000);
  let redis: RedisServer | undefined;
  let world: ReplicatedWorld;
  before(async function () {
    needsRedisServer(this);
    redis = await RedisServer.start();
    world = await ReplicatedWorld.prepare(redis, { binary: binaryOf("previous", "proxy") });
    await world.startReplicas();
    await world.subscribe();
    await world.watchesOfEach(1);
    world.edits.begin();
    await world.edits.more(5);
  });
  after(async () => {
    // Without a redis-server there is neither.
    if (redis === undefined) return;
    await world.stop();
    await redis.stop();
  });

  async function roll(to: Version): Promise<void> {
    for (const [index, old] of world.replicas.entries()) {
      expect(await world.replace(old, binaryOf(to, "proxy")), old.proxy.process.output).to.equal(0);
      const { version } = world.edits;
      await world.edits.more(5);
      await world.allReach(version);
      // Versions whose records differ must not see each other's: each has an owner, which watches for its replicas.
      await world.watchesOfEach(index < 2 ? 2 : 1);
      for (const { name, proxy } of world.replicas)
        expect(await refusedRecords(proxy.management), `records that ${name} has refused`).to.equal(0);
    }
  }

  it("serve every subscriber through an upgrade, and none with an older version than before", async () => {
    await roll("present");
    expect((await world.judge()).backwards).to.deep.equal([]);
  });

  it("do so through a rollback, over what both have left in Redis", async () => {
    world.edits.begin();
    await roll("previous");
    expect((await world.judge()).backwards).to.deep.equal([]);
  });

  it("do so through the upgrade after that", async () => {
    world.edits.begin();
    await roll("present");
    expect((await world.judge()).backwards).to.deep.equal([]);
  });
});

async function refusedRecords(management: string): Promise<number> {
  const lines = (await (await fetch(`${management}/metrics`)).text()).split("\n");
  return lines
    .filter((line) => line.startsWith("bunting_proxy_backplane_refused_records_total"))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
