import { EventQueue } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { needsRedisServer, SharedRedis, type RedisServer } from "../redis-server.fixture.js";
import { Stops, TestReplica } from "../replica.fixture.js";
import { LeaseKeeper } from "./lease-keeper.js";
import { OwnerLease } from "./owner-lease.js";

describe("LeaseKeeper", () => {
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

  /** A keeper whose time stands still: it tends its leases when the test says so. */
  async function keeper(holder: string, leaseMs = 60_000) {
    const clock = new ManualClock();
    const options = { address: server.address, commandTimeoutMs: 5_000 };
    const { connection, keys } = stops.add(await TestReplica.connected(options));
    const ownerLease = new OwnerLease({ connection, keys, holder, leaseMs, clock });
    const events = new EventQueue<string>();
    const kept = new LeaseKeeper({
      ownerLease,
      leaseMs,
      clock,
      onHeld: () => events.push("held"),
      onLost: () => events.push("lost"),
    });
    return { kept, events, clock, ownerLease };
  }

  it("takes what is wanted and free, and says so once", async () => {
    const { kept, events } = await keeper("a");
    kept.want();
    await kept.tend();
    await kept.tend();
    expect(await events.nextEvent()).to.equal("held");
    expect(events.size).to.equal(0);
    expect(kept.held).to.include({ holder: "a" });
  });

  it("takes over what is released at once", async () => {
    const [a, b] = [await keeper("a"), await keeper("b")];
    a.kept.want();
    await a.kept.tend();
    b.kept.want();
    await a.kept.drop();
    await b.kept.tend();
    expect(await b.events.nextEvent()).to.equal("held");
    expect(a.kept.held).to.equal(undefined);
    await a.kept.tend();
    expect(a.events.size).to.equal(1);
  });

  it("says that a lease is lost when Redis does not know it any more, and takes it again", async () => {
    const { kept, events } = await keeper("a");
    kept.want();
    await kept.tend();
    const before = kept.held?.fence ?? 0;
    await server.command("FLUSHALL");
    await kept.tend();
    for (const expected of ["held", "lost", "held"]) expect(await events.nextEvent()).to.equal(expected);
    expect(kept.held?.fence).to.be.greaterThan(before);
  });

  it("loses leases by itself while Redis is away, and counts on none that is past its end", async () => {
    const { kept, events, clock } = await keeper("a", 1_000);
    kept.want();
    const stopping = new AbortController();
    const running = kept.run(stopping.signal);
    stops.later(async () => {
      stopping.abort();
      await running;
    });
    expect(await events.nextEvent()).to.equal("held");
    await server.kill();
    clock.advance(999);
    expect(kept.held).not.to.equal(undefined);
    clock.advance(1);
    expect(kept.held).to.equal(undefined);
    clock.advance(1_000);
    expect(await events.nextEvent()).to.equal("lost");
  });

  it("gives back what it is given after it has stopped to want it", async () => {
    const [{ ownerLease, clock }, other] = [await keeper("a"), await keeper("b")];
    const kept: LeaseKeeper = new LeaseKeeper({
      ownerLease: {
        acquire: async () => {
          const acquired = await ownerLease.acquire();
          // Its answer is on the way.
          await kept.drop();
          return acquired;
        },
        renew: (held) => ownerLease.renew(held),
        release: (lease) => ownerLease.release(lease),
      },
      ...{ leaseMs: 60_000, clock },
      onHeld: () => expect.fail("nobody wants it"),
      onLost: () => expect.fail("it was not held"),
    });
    kept.want();
    await kept.tend();
    expect(await other.ownerLease.acquire()).not.to.equal(undefined);
  });
});
