import { EventQueue } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { needsRedisServer, SharedRedis, type RedisServer } from "../redis-server.fixture.js";
import { Stops, TestReplica } from "../replica.fixture.js";
import { LeaseKeeper } from "./lease-keeper.js";
import { Leases } from "./leases.js";

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
    const leases = new Leases({ connection, keys, holder, leaseMs, clock });
    const events = new EventQueue<string>();
    const kept = new LeaseKeeper({
      leases,
      leaseMs,
      clock,
      onHeld: ({ name }) => events.push(`held ${name}`),
      onLost: (name) => events.push(`lost ${name}`),
      onHandOverRequested: ({ name }, by) => events.push(`requested ${name} by ${by}`),
    });
    return { kept, events, clock, leases };
  }

  it("takes what is wanted and free, and says so once", async () => {
    const { kept, events } = await keeper("a");
    kept.want("one", false);
    await kept.tend();
    await kept.tend();
    expect(await events.nextEvent()).to.equal("held one");
    expect(events.size).to.equal(0);
    expect(kept.held("one")).to.include({ name: "one", holder: "a" });
    expect(kept.held("two")).to.equal(undefined);
  });

  it("passes a lease from one to the other when that asks, without a time when nobody has it", async () => {
    const [a, b] = [await keeper("a"), await keeper("b")];
    a.kept.want("one", false);
    await a.kept.tend();
    b.kept.want("one", false);
    await b.kept.tend();
    await a.kept.tend();
    expect(await a.events.nextEvent()).to.equal("held one");
    expect(a.events.size).to.equal(0);
    b.kept.want("one", true);
    await b.kept.tend();
    await a.kept.tend();
    expect(await a.events.nextEvent()).to.equal("requested one by b");
    const lease = a.kept.held("one");
    if (lease === undefined) return expect.fail("it is held");
    await a.leases.handOver(lease, "b");
    await a.kept.drop("one");
    await b.kept.tend();
    expect(await b.events.nextEvent()).to.equal("held one");
    expect(b.kept.held("one")?.fence).to.be.greaterThan(lease.fence);
  });

  it("takes over what is released at once", async () => {
    const [a, b] = [await keeper("a"), await keeper("b")];
    a.kept.want("one", false);
    await a.kept.tend();
    b.kept.want("one", false);
    await a.kept.drop("one");
    await b.kept.tend();
    expect(await b.events.nextEvent()).to.equal("held one");
    expect(a.kept.held("one")).to.equal(undefined);
    await a.kept.tend();
    expect(a.events.size).to.equal(1);
  });

  it("says that a lease is lost when Redis does not know it any more, and takes it again", async () => {
    const { kept, events } = await keeper("a");
    kept.want("one", false);
    await kept.tend();
    const before = kept.held("one")?.fence ?? 0;
    await server.command("FLUSHALL");
    await kept.tend();
    for (const expected of ["held one", "lost one", "held one"])
      expect(await events.nextEvent()).to.equal(expected);
    expect(kept.held("one")?.fence).to.be.greaterThan(before);
  });

  it("loses leases by itself while Redis is away, and counts on none that is past its end", async () => {
    const { kept, events, clock } = await keeper("a", 1_000);
    kept.want("one", false);
    const stopping = new AbortController();
    const running = kept.run(stopping.signal);
    stops.later(async () => {
      stopping.abort();
      await running;
    });
    expect(await events.nextEvent()).to.equal("held one");
    await server.kill();
    clock.advance(999);
    expect(kept.held("one")).not.to.equal(undefined);
    clock.advance(1);
    expect(kept.held("one")).to.equal(undefined);
    clock.advance(1_000);
    expect(await events.nextEvent()).to.equal("lost one");
  });

  it("goes on under a new number", async () => {
    const { kept, events, leases } = await keeper("a");
    kept.want("one", false);
    await kept.tend();
    const lease = kept.held("one");
    if (lease === undefined) return expect.fail("it is held");
    const next = await leases.advance(lease);
    kept.replace(next);
    await kept.tend();
    expect(await events.nextEvent()).to.equal("held one");
    expect(events.size).to.equal(0);
    expect(kept.held("one")?.fence).to.equal(next.fence);
  });

  it("does not lose a lease that got a new number while it was renewed", async () => {
    const { kept, events, leases } = await keeper("a");
    kept.want("one", false);
    await Promise.all([kept.tend(), kept.tend()]);
    const lease = kept.held("one");
    if (lease === undefined) return expect.fail("it is held");
    const advancing = leases.advance(lease);
    const tending = kept.tend();
    kept.replace(await advancing);
    await tending;
    await kept.tend();
    expect(await events.nextEvent()).to.equal("held one");
    expect(events.size).to.equal(0);
  });

  it("gives back what it is given after it has stopped to want it", async () => {
    const [{ leases, clock }, other] = [await keeper("a"), await keeper("b")];
    const kept: LeaseKeeper = new LeaseKeeper({
      leases: {
        acquire: async (name, asks) => {
          const acquired = await leases.acquire(name, asks);
          // Its answer is on the way.
          await kept.drop(name);
          return acquired;
        },
        renew: (held) => leases.renew(held),
        release: (lease) => leases.release(lease),
      },
      ...{ leaseMs: 60_000, clock },
      onHeld: () => expect.fail("nobody wants it"),
      onLost: () => expect.fail("it was not held"),
      onHandOverRequested: () => expect.fail("it was not held"),
    });
    kept.want("one", false);
    await kept.tend();
    expect((await other.leases.acquire("one", false)).isHeld).to.equal(true);
  });
});
