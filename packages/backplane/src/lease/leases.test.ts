import { systemClock, type Clock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { needsRedisServer, RedisServer } from "../redis-server.fixture.js";
import { codeOf, Stops, TestReplica } from "../replica.fixture.js";
import { Leases, type Lease } from "./leases.js";

describe("Leases", () => {
  let server: RedisServer;
  const stops = new Stops();
  before(async function () {
    needsRedisServer(this);
    server = await RedisServer.start();
  });
  after(() => RedisServer.stop(server));
  beforeEach(() => server.command("FLUSHALL"));
  afterEach(() => stops.stop());

  async function leasesOf(holder: string, leaseMs = 60_000, clock: Clock = systemClock): Promise<Leases> {
    const { connection, keys } = stops.add(await TestReplica.connected({ address: server.address }));
    return new Leases({ connection, keys, holder, leaseMs, clock });
  }

  async function held(leases: Leases, name = "topic", asks = false): Promise<Lease> {
    const acquired = await leases.acquire(name, asks);
    if (!acquired.isHeld) expect.fail(`${acquired.holder} has it`);
    return acquired.lease;
  }

  it("gives a lease to one replica, and names its holder to the others", async () => {
    const [a, b] = [await leasesOf("a"), await leasesOf("b")];
    const lease = await held(a);
    const refused = await b.acquire("topic", false);
    expect(refused).to.include({ isHeld: false, holder: "a" });
    expect(refused).to.have.property("leftMs").within(1, 60_000);
    expect((await held(b, "another")).fence).to.be.greaterThan(lease.fence);
  });

  it("gives a lease that never ends, as no replica takes it, to one that asks again", async () => {
    await server.command("HSET", "bunting:lease:topic", "holder", "nobody", "fence", "5");
    const a = await leasesOf("a", 200);
    await eventually(async () => (await a.acquire("topic", false)).isHeld, "the lease");
  });

  it("renews all other leases where something else is under the keys of one", async () => {
    const a = await leasesOf("a");
    const [one, two] = [await held(a, "one"), await held(a, "two")];
    await server.command("SET", "bunting:lease:one", "a text");
    await server.command("RPUSH", "bunting:wish:two", "a list");
    expect((await a.renew([one, two])).map(({ isHeld }) => isHeld)).to.deep.equal([false, true]);
  });

  it("gives one of many that ask at once", async () => {
    const replicas = await Promise.all(["a", "b", "c", "d"].map((holder) => leasesOf(holder)));
    const answers = await Promise.all(replicas.map((leases) => leases.acquire("topic", false)));
    expect(answers.filter(({ isHeld }) => isHeld)).to.have.length(1);
  });

  it("keeps the number for who asks again, and renews", async () => {
    const a = await leasesOf("a");
    const first = await held(a);
    await server.command("PEXPIRE", "bunting:lease:topic", 1_000);
    expect((await held(a)).fence).to.equal(first.fence);
    expect(await server.command("PTTL", "bunting:lease:topic")).to.be.greaterThan(30_000);
  });

  it("frees a lease that nobody renews, and gives it under a higher number", async () => {
    const [a, b] = [await leasesOf("a", 100), await leasesOf("b")];
    const first = await held(a);
    let second: Lease | undefined;
    await eventually(async () => {
      const acquired = await b.acquire("topic", false);
      if (acquired.isHeld) second = acquired.lease;
      return acquired.isHeld;
    }, "the end of the lease");
    expect(second?.fence).to.be.greaterThan(first.fence);
    expect(await a.renew([first])).to.deep.equal([{ isHeld: false, name: "topic", holder: "b" }]);
    expect(await a.release(first)).to.equal(false);
    expect((await b.acquire("topic", false)).isHeld).to.equal(true);
  });

  it("renews many at once, and says of each whether it is held and who asks for it", async () => {
    const [a, b] = [await leasesOf("a"), await leasesOf("b")];
    const leases = await Promise.all(Array.from({ length: 300 }, (_, index) => held(a, `t${index}`)));
    await server.command("DEL", "bunting:lease:t1");
    await b.acquire("t299", true);
    await b.acquire("t298", false);
    const renewed = await a.renew(leases);
    expect(renewed.filter(({ isHeld }) => !isHeld)).to.deep.equal([{ isHeld: false, name: "t1" }]);
    const asked = renewed.flatMap((one) =>
      one.isHeld && one.requestedBy !== undefined ? [[one.lease.name, one.requestedBy]] : [],
    );
    expect(asked).to.deep.equal([["t299", "b"]]);
    expect(await a.renew([])).to.deep.equal([]);
  });

  it("counts the end of a lease from before it was asked for", async () => {
    const clock = new ManualClock();
    const a = await leasesOf("a", 60_000, clock);
    const asking = held(a);
    const askedMs = clock.monotonicMs();
    clock.advance(5_000);
    const lease = await asking;
    expect(lease.untilMs).to.equal(askedMs + 60_000);
    const renewing = a.renew([lease]);
    clock.advance(5_000);
    const [renewed] = await renewing;
    expect(renewed?.isHeld === true && renewed.lease.untilMs).to.equal(askedMs + 65_000);
  });

  it("hands a lease over without a gap, under a higher number", async () => {
    const [a, b, c] = [await leasesOf("a"), await leasesOf("b"), await leasesOf("c")];
    const first = await held(a);
    await b.acquire("topic", true);
    expect(await a.handOver(first, "b")).to.equal(true);
    expect(await c.acquire("topic", false)).to.include({ isHeld: false, holder: "b" });
    expect(await a.renew([first])).to.deep.equal([{ isHeld: false, name: "topic", holder: "b" }]);
    const second = await held(b);
    expect(second.fence).to.be.greaterThan(first.fence);
    const [renewed] = await b.renew([second]);
    expect(renewed).not.to.have.property("requestedBy");
    expect(await codeOf(a.handOver(first, "c"))).to.equal("FENCED");
  });

  it("hands a lease over to nobody who asks no more", async () => {
    const [a, b] = [await leasesOf("a"), await leasesOf("b")];
    const first = await held(a);
    await b.acquire("topic", true);
    expect((await a.renew([first]))[0]).to.have.property("requestedBy", "b");
    await server.command("DEL", ...((await server.command("KEYS", "*wish:topic")) as unknown[]).map(String));
    expect(await a.handOver(first, "b")).to.equal(false);
    expect((await a.renew([first]))[0]).to.have.property("isHeld", true);
  });

  it("believes that who asks is there, and waits for who is given a lease, for half of its life each", async () => {
    const [a, b] = [await leasesOf("a"), await leasesOf("b")];
    const first = await held(a);
    await b.acquire("topic", true);
    const leftMs = async (kind: string): Promise<number> => {
      const [key] = (await server.command("KEYS", `*${kind}:topic`)) as unknown[];
      return (await server.command("PTTL", String(key))) as number;
    };
    expect(await leftMs("wish")).to.be.within(1, 30_000);
    await a.handOver(first, "b");
    expect(await leftMs("lease")).to.be.within(1, 30_000);
    await held(b);
    expect(await leftMs("lease")).to.be.within(30_001, 60_000);
  });

  it("goes on under a new number, and the old one ends", async () => {
    const a = await leasesOf("a");
    const first = await held(a);
    const second = await a.advance(first);
    expect(second.fence).to.be.greaterThan(first.fence);
    expect(await codeOf(a.advance(first))).to.equal("FENCED");
    expect((await a.renew([second]))[0]).to.have.property("isHeld", true);
  });

  it("releases a lease, and the next number is higher", async () => {
    const [a, b] = [await leasesOf("a"), await leasesOf("b")];
    const first = await held(a);
    expect(await a.release(first)).to.equal(true);
    expect((await held(b)).fence).to.be.greaterThan(first.fence);
  });

  it("gives higher numbers also after Redis was emptied", async () => {
    const [a, b] = [await leasesOf("a"), await leasesOf("b")];
    const first = await held(a);
    await server.command("FLUSHALL");
    expect((await held(b)).fence).to.be.greaterThan(first.fence);
  });

  it("gives higher numbers where the clock of Redis was set back", async () => {
    // As if the last number had been given out in an hour.
    const ahead = Date.now() * 1_000 + 3_600_000_000;
    await server.command("SET", "bunting:fence", ahead);
    const a = await leasesOf("a");
    const first = await held(a);
    expect(first.fence).to.equal(ahead + 1);
    // Now Redis has lost it as well: the replica knows.
    await server.command("FLUSHALL");
    expect((await held(a)).fence).to.equal(ahead + 2);
  });

  it("gives numbers on where the last one is not a number, or one that was never given out: none would be left", async () => {
    const a = await leasesOf("a");
    await server.command("SET", "bunting:fence", "x");
    const first = await held(a, "first");
    for (const planted of ["9007199254740990", "1e300", "nan"]) {
      await server.command("SET", "bunting:fence", planted);
      const next = await held(a, planted);
      expect(next.fence).to.be.within(first.fence, 2 * first.fence);
    }
  });

  it("gives leases also where something else is under the keys of the last number, or of who asks", async () => {
    const a = await leasesOf("a");
    await server.command("RPUSH", "bunting:fence", "a list");
    await server.command("RPUSH", "bunting:wish:first", "a list");
    const first = await held(a, "first");
    expect((await held(a, "second")).fence).to.be.greaterThan(first.fence);
  });

  it("forgets that a replica asked for a lease once that has it, however it came to it: it would hand it over to itself", async () => {
    const [a, b] = [await leasesOf("a"), await leasesOf("b")];
    const before = await held(a);
    expect((await b.acquire("topic", true)).isHeld).to.equal(false);
    await a.release(before);
    const [renewed] = await b.renew([await held(b)]);
    expect(renewed).to.include({ isHeld: true }).and.not.to.have.property("requestedBy");
  });
});
