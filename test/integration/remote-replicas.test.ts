import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { HttpServer } from "../support/http-server.js";
import { Replica } from "../support/replica.js";
import { scaled } from "../support/scale.js";
import { SyncClients } from "../support/sync-clients.js";

const subscribers = scaled(999, 66);
const intervalMs = 5_000;
/** A replica takes up to a tenth from an interval. */
const leastMs = 0.9 * intervalMs;
const timerMs = 10;

function documentOf(version: number): object {
  return { flags: { version: { state: "ENABLED", variants: { v: version }, defaultVariant: "v" } } };
}

describe("three replicas of bunting-proxy on one Redis, and the remote of a FeatureFlag", function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  before(function () {
    needsRedisServer(this);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it(`ask it once an interval for all of ${subscribers} subscribers, who have each edit of it`, async () => {
    const redis = await RedisServer.start();
    cleanUps.push(() => redis.stop());
    const api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    const remote = new HttpServer();
    const uri = `${await remote.start()}/flags.json`;
    cleanUps.push(() => remote.stop());
    let version = 1;
    const askedMs: number[] = [];
    remote.answer = (_request, response) => {
      askedMs.push(performance.now());
      response.end(JSON.stringify(documentOf(version)));
    };
    api.put("shop", "checkout", {
      flagSpec: documentOf(0),
      remoteFlagProvider: { type: "http", uri, strategy: "override", interval: `${intervalMs}ms` },
    });
    const args = [`--remote-hosts=http://127.0.0.1:${remote.port}=127.0.0.1`];
    const clients: SyncClients[] = [];
    for (const name of ["one", "two", "three"]) {
      const replica = await Replica.start({ name, api, redisPort: redis.port, args });
      cleanUps.push(() => replica.stop());
      const target = `127.0.0.1:${replica.port}`;
      clients.push(
        new SyncClients({ count: subscribers / 3, target, selector: "shop/checkout", flag: "version" }),
      );
    }
    cleanUps.push(() => clients.forEach((each) => each.kill()));
    const allHave = (expected: number): Promise<void> =>
      eventually(
        async () => {
          const reports = (await Promise.all(clients.map((each) => each.report()))).flat();
          return reports.every(({ last }) => last === expected);
        },
        `all have version ${expected}`,
        60_000,
      );
    await allHave(version);
    // Before one of them is the owner, each may ask for itself.
    const first = askedMs.length;
    await eventually(() => askedMs.length > first + 1, "two intervals", 60_000);
    version = 2;
    await allHave(version);
    const settled = askedMs.slice(first);
    const gapsMs = settled.slice(1).map((atMs, index) => atMs - (settled[index] ?? 0));
    for (const gapMs of gapsMs) expect(gapMs).to.be.at.least(leastMs - timerMs);
    expect(gapsMs).to.have.length.of.at.least(1);
  });
});
