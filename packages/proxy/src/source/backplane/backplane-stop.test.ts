import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { systemClock, type Clock } from "@bunting/runtime";
import { expect } from "chai";
import { BackplaneReplica, TestCluster } from "./backplane.fixture.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FaultProxy } from "@bunting/test/support/fault-proxy.js";

describe("a replica that shares a Redis and stops", () => {
  before(function () {
    needsRedisServer(this);
  });

  it("ends at once, and does not say that Redis is away", async () => {
    const redis = await RedisServer.start();
    const timers = new Set<object>();
    const clock: Clock = {
      ...systemClock,
      after: (delayMs, callback) => {
        const timer = {};
        timers.add(timer);
        const cancel = systemClock.after(delayMs, () => {
          timers.delete(timer);
          callback();
        });
        return () => {
          timers.delete(timer);
          cancel();
        };
      },
    };
    try {
      const cluster = new TestCluster();
      cluster.publish("demo/flags");
      const replica = new BackplaneReplica(cluster, redis, { clock });
      replica.watch("demo/flags");
      await eventually(() => replica.isOwner, "an owner");
      await replica.stop();
      expect(timers.size, "timers that keep the process alive").to.equal(0);
      expect(replica.lines.join("")).not.to.contain("Redis is away");
    } finally {
      await redis.stop();
    }
  });

  it("ends soon where Redis takes long for each answer, however many topics it has", async () => {
    const redis = await RedisServer.start();
    const way = await FaultProxy.start(redis.port);
    try {
      const replica = new BackplaneReplica(new TestCluster(), `redis://127.0.0.1:${way.port}`, {
        leaseMs: 60_000,
        memberMs: 60_000,
        commandTimeoutMs: 10_000,
      });
      await eventually(() => replica.isOwner, "the lease");
      for (let index = 0; index < 10_000; index++) replica.watch(`demo-${index}/flags`);
      way.slow(64 * 1024, 300);
      // To mention and to confirm all topics takes 24 s from now on.
      const before = way.bytesToServer;
      await eventually(() => way.bytesToServer > before + 1_000, "that a reconciliation is under way");
      const stoppedMs = performance.now();
      await replica.stop();
      expect(performance.now() - stoppedMs).to.be.lessThan(18_000);
    } finally {
      await way.close();
      await redis.stop();
    }
  });
});
