import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { systemClock, type Clock } from "@bunting/runtime";
import { expect } from "chai";
import { BackplaneReplica, TestCluster } from "./backplane.fixture.js";
import { eventually } from "@bunting/test/support/event-queue.js";

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
      await eventually(() => replica.owned.length === 1, "an owner");
      await replica.stop();
      expect(timers.size, "timers that keep the process alive").to.equal(0);
      expect(replica.lines.join("")).not.to.contain("Redis is away");
    } finally {
      await redis.stop();
    }
  });
});
