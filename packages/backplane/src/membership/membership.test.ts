import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { needsRedisServer, SharedRedis, type RedisServer } from "../redis-server.fixture.js";
import { Stops, TestReplica } from "../replica.fixture.js";
import { Membership } from "./membership.js";

describe("Membership", () => {
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

  async function join(member: string, { memberMs = 60_000, clock = new ManualClock(), runs = false } = {}) {
    const options = { address: server.address, commandTimeoutMs: 200, connectTimeoutMs: 200 };
    const replica = stops.add(await TestReplica.connected(options));
    const { connection, keys } = replica;
    const beats = new EventQueue<string>();
    const onBeat = (): void => beats.push("beat");
    const membership = new Membership({ connection, keys, member, memberMs, clock, onBeat });
    const leaving = new AbortController();
    const left = runs ? membership.run(leaving.signal) : Promise.resolve();
    stops.later(async () => {
      leaving.abort();
      await left;
    });
    return { membership, beats, leaving, left, replica };
  }

  it("tells each replica who is live", async () => {
    const [a, b] = [await join("a"), await join("b")];
    await a.membership.beat();
    expect(a.membership.members).to.deep.equal(["a"]);
    await b.membership.beat();
    expect(b.membership.members).to.deep.equal(["a", "b"]);
    await a.membership.beat();
    expect(a.membership.members).to.deep.equal(["a", "b"]);
  });

  it("forgets a replica that beats no more", async () => {
    const [a, b] = [await join("a"), await join("b", { memberMs: 100 })];
    await b.membership.beat();
    await a.membership.beat();
    expect(a.membership.members).to.deep.equal(["a", "b"]);
    await eventually(async () => {
      await a.membership.beat();
      return a.membership.members?.join() === "a";
    }, "the end of b");
  });

  it("leaves at once when it is stopped", async () => {
    const [a, b] = [await join("a"), await join("b", { runs: true })];
    await b.beats.nextEvent();
    await a.membership.beat();
    expect(a.membership.members).to.deep.equal(["a", "b"]);
    b.leaving.abort();
    await b.left;
    await a.membership.beat();
    expect(a.membership.members).to.deep.equal(["a"]);
  });

  it("leaves out what no replica has written, and is bounded, whatever other software writes", async () => {
    const later = String(Date.now() + 100_000_000);
    const soon = String(Date.now() + 1_000_000);
    const many = Array.from({ length: 3_000 }, (_, index) => [soon, `other-${index}`]).flat();
    await server.command("ZADD", "bunting:2:members", later, "for ever", soon, "x".repeat(10_000), ...many);
    const { membership } = await join("a");
    await membership.beat();
    expect(membership.members).to.have.length.within(900, 1_000);
    expect(membership.members).to.include("a").and.not.to.include("for ever");
  });

  it("takes the place of what else is under the key of members", async () => {
    await server.command("SET", "bunting:2:members", "of somebody else");
    const { membership } = await join("a");
    await membership.beat();
    expect(membership.members).to.deep.equal(["a"]);
  });

  it("does not count on what it knew long ago, counted from before it asked", async () => {
    const clock = new ManualClock();
    const { membership } = await join("a", { memberMs: 1_000, clock });
    expect(membership.members).to.equal(undefined);
    const beating = membership.beat();
    clock.advance(600);
    await beating;
    expect(membership.members).to.deep.equal(["a"]);
    clock.advance(400);
    expect(membership.members).to.equal(undefined);
  });

  it("joins again where Redis came back empty", async () => {
    const { membership, beats, replica } = await join("a", { runs: true });
    await beats.nextEvent();
    await server.kill();
    await replica.next(false);
    await server.restart();
    await replica.next(true);
    await membership.beat();
    expect(membership.members).to.deep.equal(["a"]);
    expect(await server.command("ZCARD", "bunting:2:members")).to.equal(1);
  });

  it("ends soon without Redis", async () => {
    const { leaving, left, replica } = await join("a", { runs: true });
    await server.kill();
    await replica.next(false);
    leaving.abort();
    await left;
  });
});
