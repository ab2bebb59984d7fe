import { systemClock, type Clock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { needsRedisServer, RedisServer } from "../redis-server.fixture.js";
import { Stops, TestReplica } from "../replica.fixture.js";
import { OwnerLease, type Lease } from "./owner-lease.js";

describe("OwnerLease", () => {
  let server: RedisServer;
  const stops = new Stops();
  before(async function () {
    needsRedisServer(this);
    server = await RedisServer.start();
  });
  after(() => RedisServer.stop(server));
  beforeEach(() => server.command("FLUSHALL"));
  afterEach(() => stops.stop());

  async function leaseOf(holder: string, leaseMs = 60_000, clock: Clock = systemClock): Promise<OwnerLease> {
    const { connection, keys } = stops.add(await TestReplica.connected({ address: server.address }));
    return new OwnerLease({ connection, keys, holder, leaseMs, clock });
  }

  async function held(ownerLease: OwnerLease): Promise<Lease> {
    return (await ownerLease.acquire()) ?? expect.fail("another one has it");
  }

  it("is given to one replica, and refused to the others", async () => {
    const [a, b] = [await leaseOf("a"), await leaseOf("b")];
    expect(await held(a)).to.include({ holder: "a" });
    expect(await b.acquire()).to.equal(undefined);
  });

  it("is freed where it would never end, as no replica takes it", async () => {
    await server.command("HSET", "bunting:2:lease", "holder", "nobody", "fence", "5");
    const a = await leaseOf("a", 200);
    await eventually(async () => (await a.acquire()) !== undefined, "the lease");
  });

  it("is given to one of many that ask at once", async () => {
    const replicas = await Promise.all(["a", "b", "c", "d"].map((holder) => leaseOf(holder)));
    const answers = await Promise.all(replicas.map((ownerLease) => ownerLease.acquire()));
    expect(answers.filter((lease) => lease !== undefined)).to.have.length(1);
  });

  it("keeps its number for who asks again, and is renewed", async () => {
    const a = await leaseOf("a");
    const first = await held(a);
    await server.command("PEXPIRE", "bunting:2:lease", 1_000);
    expect((await held(a)).fence).to.equal(first.fence);
    expect(await server.command("PTTL", "bunting:2:lease")).to.be.greaterThan(30_000);
    await server.command("PEXPIRE", "bunting:2:lease", 1_000);
    expect((await a.renew(first))?.fence).to.equal(first.fence);
    expect(await server.command("PTTL", "bunting:2:lease")).to.be.greaterThan(30_000);
  });

  it("is free if nobody renews it, and is given under a higher number", async () => {
    const [a, b] = [await leaseOf("a", 100), await leaseOf("b")];
    const first = await held(a);
    let second: Lease | undefined;
    await eventually(async () => (second = await b.acquire()) !== undefined, "the end of the lease");
    expect(second?.fence).to.be.greaterThan(first.fence);
    expect(await a.renew(first)).to.equal(undefined);
    expect(await a.release(first)).to.equal(false);
    expect(await a.acquire()).to.equal(undefined);
  });

  it("ends by a time that counts from before it was asked for", async () => {
    const clock = new ManualClock();
    const a = await leaseOf("a", 60_000, clock);
    const asking = held(a);
    const askedMs = clock.monotonicMs();
    clock.advance(5_000);
    const lease = await asking;
    expect(lease.untilMs).to.equal(askedMs + 60_000);
    const renewing = a.renew(lease);
    clock.advance(5_000);
    expect((await renewing)?.untilMs).to.equal(askedMs + 65_000);
  });

  it("is released, and the next number is higher", async () => {
    const [a, b] = [await leaseOf("a"), await leaseOf("b")];
    const first = await held(a);
    expect(await a.release(first)).to.equal(true);
    expect((await held(b)).fence).to.be.greaterThan(first.fence);
  });

  it("has a higher number also after Redis was emptied", async () => {
    const [a, b] = [await leaseOf("a"), await leaseOf("b")];
    const first = await held(a);
    await server.command("FLUSHALL");
    expect((await held(b)).fence).to.be.greaterThan(first.fence);
  });

  it("has a higher number where the clock of Redis was set back", async () => {
    // As if the last number had been given out in an hour.
    const ahead = Date.now() * 1_000 + 3_600_000_000;
    await server.command("SET", "bunting:2:fence", ahead);
    const a = await leaseOf("a");
    expect((await held(a)).fence).to.equal(ahead + 1);
    // Now Redis has lost it as well: the replica knows.
    await server.command("FLUSHALL");
    expect((await held(a)).fence).to.equal(ahead + 2);
  });

  it("is given where the last number is not a number, or one that was never given out: none would be left", async () => {
    const a = await leaseOf("a");
    const first = await held(a);
    await a.release(first);
    await server.command("DEL", "bunting:2:fence");
    await server.command("RPUSH", "bunting:2:fence", "a list");
    await a.release(await held(a));
    for (const planted of ["x", "9007199254740990", "1e300", "nan"]) {
      await server.command("SET", "bunting:2:fence", planted);
      const next = await held(a);
      expect(next.fence).to.be.within(first.fence, 2 * first.fence);
      await a.release(next);
    }
  });
});
