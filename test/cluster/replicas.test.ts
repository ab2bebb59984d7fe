import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { inParallel } from "./support/in-parallel.js";
import { flagSpec, ProxyUnderTest, type FlagStream } from "./support/proxy-under-test.js";
import type { ServiceAccount } from "./support/service-account.js";
import { sharedCluster } from "./support/use-cluster.js";

const names = Array.from({ length: 200 }, (_, index) => `flag-${index}`);

describe("three replicas on one Redis and a real API server", function () {
  this.timeout(300_000);
  const cluster = sharedCluster();
  let redis: RedisServer | undefined;
  let namespace: string;
  let account: ServiceAccount;
  let proxies: ProxyUnderTest[] = [];
  before(function () {
    needsRedisServer(this);
  });
  beforeEach(async () => {
    redis = await RedisServer.start();
    namespace = await cluster().createNamespace();
    account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    await inParallel(names, (name) => cluster().putFeatureFlag(namespace, name, flagSpec(1)));
  });
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.stop();
    await RedisServer.stop(redis);
  });

  /** Starts them, with a subscriber of each FeatureFlag at each, and waits until all have the flags. */
  async function start(scope: string): Promise<FlagStream[][]> {
    const args = ["--backplane", redis?.address ?? "", "--watch-scope", scope];
    proxies = await Promise.all([1, 2, 3].map(() => ProxyUnderTest.start(account, args)));
    const streams = proxies.map((proxy) => names.map((name) => proxy.subscribe(namespace, name)));
    for (const stream of streams.flat()) expect(await stream.next()).to.equal(1);
    return streams;
  }

  async function watches(count: number): Promise<void> {
    const open = (): number => cluster().openWatches(account).length;
    await eventually(() => open() === count, `${count} watches`, 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}; there are ${open()}`);
    });
  }

  async function edited(streams: readonly FlagStream[], version: number): Promise<void> {
    await inParallel(names, (name) => cluster().putFeatureFlag(namespace, name, flagSpec(version)));
    for (const stream of streams) expect(await stream.next()).to.equal(version);
  }

  for (const [scope, count] of [
    ["object", names.length],
    ["auto", 1],
  ] as const)
    it(`have ${count} watches for 200 FeatureFlags between them with --watch-scope=${scope}, also when two were killed`, async () => {
      const streams = await start(scope);
      await watches(count);
      await edited(streams.flat(), 2);
      await watches(count);
      const [first, second, last] = proxies;
      proxies = last === undefined ? [] : [last];
      await first?.stop();
      await second?.stop();
      await edited(streams[2] ?? [], 3);
      await watches(count);
    });
});
