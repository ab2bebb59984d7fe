import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { Stops } from "@bunting/backplane/internal/replica.fixture.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FaultProxy } from "@bunting/test/support/fault-proxy.js";
import { expect } from "chai";
import { encodeSnapshot } from "../../snapshot/encode-snapshot.js";
import type { RecordingSink } from "../source.fixture.js";
import { BackplaneReplica, documentOf, TestCluster, textOf } from "./backplane.fixture.js";

const topic = "demo/flags";
/** No lease ends, and no replica is given up, because this machine is busy with something else. */
const lasting = { leaseMs: 60_000, memberMs: 60_000, commandTimeoutMs: 10_000 };

describe("BackplaneSource", () => {
  let redis: RedisServer;
  let cluster: TestCluster;
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  beforeEach(async () => {
    redis = stops.add(await RedisServer.start());
    cluster = new TestCluster();
  });
  afterEach(() => stops.stop());

  const start = (
    options?: ConstructorParameters<typeof BackplaneReplica>[2],
    at: RedisServer | string = redis,
  ) => stops.add(new BackplaneReplica(cluster, at, options));
  const watchersOf = (replicas: readonly BackplaneReplica[]): number =>
    replicas.filter(({ cluster: { watchCount } }) => watchCount > 0).length;
  /** A replica that owns the topic, and one that follows it. */
  async function ownerAndFollower(options?: ConstructorParameters<typeof BackplaneReplica>[2]) {
    cluster.publish(topic);
    const replicas = [start(options), start(options)];
    const sinks = replicas.map((replica) => replica.watch(topic));
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    await eventually(
      () => replicas.some(({ isOwner }) => isOwner) && watchersOf(replicas) === 1,
      "one owner",
    );
    const owner = replicas.findIndex(({ isOwner }) => isOwner);
    const [first, second, firstSink, secondSink] = [
      replicas[owner],
      replicas[1 - owner],
      sinks[owner],
      sinks[1 - owner],
    ];
    if (first === undefined || second === undefined || firstSink === undefined || secondSink === undefined)
      throw new Error("there is no owner");
    return {
      owner: first,
      follower: second,
      ownerSink: firstSink,
      followerSink: secondSink,
      replicas,
      sinks,
    };
  }
  async function hasText(sink: RecordingSink, version: string | undefined): Promise<void> {
    await eventually(() => sink.lastText === textOf(version ?? ""), `version ${version}`);
  }
  /** It is current, whether an owner's confirmation came after it was read first, or was there already. */
  async function isConfirmed(key: string, sink: RecordingSink): Promise<void> {
    const current = ["document", "document,stale,document"];
    await eventually(() => current.includes(kinds(sink).join()), "its confirmation");
    expect(await redis.command("HGET", `bunting:2:record:${key}`, "confirmed")).not.to.equal("1000");
  }
  const kinds = (sink: RecordingSink): string[] => sink.events.map(({ kind }) => kind);
  const versionsOf = (sink: RecordingSink): number[] =>
    sink.events.flatMap((event) =>
      event.kind === "document" ? [Number(event.version.resourceVersion)] : [],
    );

  it("lets one replica watch for all, with edits for all", async () => {
    const { replicas, sinks, owner, follower } = await ownerAndFollower();
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    await eventually(() => watchersOf(replicas) === 1, "one watch");
    for (const sink of sinks) expect(kinds(sink)).not.to.include("stale");
    expect(owner.metrics.lagsMs).to.deep.equal([]);
    // By the clock of Redis, and not that of the machine.
    // On a busy machine the follower may have watched for itself first, and the record that ended that is counted, too.
    expect(follower.metrics.lagsMs.at(-1)).to.equal(follower.report.lagMs);
    expect(follower.report.lagMs).to.be.within(0, 30_000);
  });

  it("tells replicas that start after all others have ended, and after an edit meanwhile, of the versions before", async () => {
    const digestOf = (version: string): string => encodeSnapshot(documentOf(version)).digest;
    const digestsIn = (sink: RecordingSink): string[] =>
      sink.histories.at(-1)?.map(({ digest }) => digest) ?? [];
    const recorded = async (version: string): Promise<void> =>
      eventually(
        async () => (await redis.command("HGET", `bunting:2:record:${topic}`, "version")) === version,
        `version ${version} in Redis`,
      );
    const { replicas } = await ownerAndFollower();
    const versions = [cluster.get(topic) ?? ""];
    for (let edit = 0; edit < 3; edit++) {
      await recorded(versions.at(-1) ?? "");
      cluster.publish(topic);
      versions.push(cluster.get(topic) ?? "");
    }
    await recorded(versions.at(-1) ?? "");
    for (const replica of replicas) await replica.stop();
    cluster.publish(topic);
    const successors = [start(), start()];
    const expected = versions.map(digestOf);
    for (const successor of successors) {
      const sink = successor.watch(topic);
      await hasText(sink, cluster.get(topic));
      // It may have been told of the version that Redis held first, or of all at once.
      await eventually(() => sink.histories.some((history) => (history?.length ?? 0) >= 3), "the history");
      const known = new Set([...digestsIn(sink), ...sink.histories.flat().map((past) => past?.digest)]);
      expect(expected.slice(0, 3).filter((digest) => !known.has(digest))).to.deep.equal([]);
    }
    await recorded(cluster.get(topic) ?? "");
    const third = start().watch(topic);
    await hasText(third, cluster.get(topic));
    await eventually(() => digestsIn(third).length > 0, "the history");
    expect(digestsIn(third)).to.deep.equal(expected);
  });

  it("tells of topics that do not exist, of their creation, deletion and return", async () => {
    const replicas = [start(), start()];
    const sinks = replicas.map((replica) => replica.watch(topic));
    for (const sink of sinks) await eventually(() => sink.last?.kind === "missing", "that it is missing");
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    cluster.delete(topic);
    for (const sink of sinks) await eventually(() => sink.last?.kind === "deleted", "its deletion");
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    await eventually(() => watchersOf(replicas) === 1, "one watch");
  });

  it("watches what only other replicas have subscribers for, and ends that when they have none", async () => {
    const { owner, follower } = await ownerAndFollower();
    cluster.publish("demo/other");
    const leaving = new AbortController();
    const sink = follower.watch("demo/other", leaving.signal);
    await hasText(sink, cluster.get("demo/other"));
    expect(owner.cluster.watched).to.deep.equal(["demo/flags", "demo/other"]);
    expect(follower.cluster.watched).to.deep.equal([]);
    expect(owner.report.forOthers).to.equal(1);
    leaving.abort();
    await eventually(() => owner.cluster.watchCount === 1, "the end of the watch");
    expect(kinds(sink)).not.to.include("stale");
  });

  it("watches, once it is the owner, what others have wanted since before it came, and can't read", async () => {
    cluster.publish(topic);
    cluster.publish("demo/other");
    const blind = start();
    blind.cluster.cut();
    const sink = blind.watch("demo/other");
    const wanted = (): Promise<unknown> => redis.command("ZCARD", "bunting:2:interest");
    await eventually(async () => (await wanted()) === 1, "what is wanted, in Redis");
    await eventually(
      () => blind.metrics.counts["given_up"] !== undefined,
      "that it leaves the lease to others",
    );
    const owner = start();
    owner.watch(topic);
    await eventually(
      () => sink.lastText === textOf(cluster.get("demo/other") ?? ""),
      "what the owner has read",
    );
    expect(owner.isOwner).to.equal(true);
  });

  it("watches what was asked of it in an announcement that it has missed, although nobody mentions that again soon", async () => {
    // An owner that loses its lease learns it when it takes that again.
    const { owner } = await ownerAndFollower({ compareMs: 60_000, leaseMs: 60_000 });
    cluster.publish("demo/other");
    await redis.command("ZADD", "bunting:2:interest", String(Date.now()), "demo/other");
    for (let shard = 0; shard < 16; shard++) await redis.command("INCR", `bunting:2:announced:${shard}`);
    // Its announcement comes after the one that is missing.
    cluster.publish(topic);
    await eventually(() => owner.cluster.watched.includes("demo/other"), "the watch");
  });

  it("takes over when the owner is gone without a word", async () => {
    const tcp = await FaultProxy.start(redis.port);
    stops.later(() => tcp.close());
    cluster.publish(topic);
    // It loses Redis and never comes back: to the others that is as if it were dead.
    const lost = start({}, `redis://127.0.0.1:${tcp.port}`);
    await hasText(lost.watch(topic), cluster.get(topic));
    await eventually(() => lost.isOwner, "an owner");
    const other = start();
    const sink = other.watch(topic);
    await hasText(sink, cluster.get(topic));
    expect(other.cluster.watchCount).to.equal(0);
    tcp.blackhole(true);
    cluster.publish(topic);
    await hasText(sink, cluster.get(topic));
    await eventually(() => other.isOwner, "that it is the owner");
  });

  it("hands over at once when the owner stops, and nobody is told that anything is stale", async () => {
    const { owner, follower, followerSink } = await ownerAndFollower(lasting);
    await owner.stop();
    cluster.publish(topic);
    await hasText(followerSink, cluster.get(topic));
    expect(follower.isOwner).to.equal(true);
    expect(kinds(followerSink)).not.to.include("stale");
  });

  it("gives the lease back when it stops, and does not leave that to the end of its time", async () => {
    const owner = start({ leaseMs: 60_000 });
    for (const one of ["demo/flags", "other/flags"] as const) owner.watch(one);
    await eventually(() => owner.isOwner, "the lease");
    const exists = (key: string): Promise<unknown> => redis.command("EXISTS", key);
    expect(await exists("bunting:2:lease")).to.equal(1);
    await owner.stop();
    expect(await exists("bunting:2:lease")).to.equal(0);
    expect(await redis.command("ZCARD", "bunting:2:members")).to.equal(0);
  });

  it("has one owner for all namespaces, which stays the owner when others join, so that no watch is opened twice", async () => {
    const topics = Array.from({ length: 12 }, (_, index) => `n${index}/flags` as const);
    for (const one of topics) cluster.publish(one);
    const first = start(lasting);
    await eventually(() => first.isOwner, "the owner");
    const others = [start(lasting), start(lasting)];
    const sinks = [first, ...others].flatMap((replica) => topics.map((one) => replica.watch(one)));
    const all = [...topics].sort();
    await eventually(() => first.cluster.watched.join() === all.join(), "its watches");
    for (const one of topics) cluster.publish(one);
    for (const [index, sink] of sinks.entries())
      await hasText(sink, cluster.get(topics[index % 12] ?? topic));
    await eventually(
      () => others.every(({ cluster: { watchCount } }) => watchCount === 0),
      "one watch for each",
    );
    expect(first.metrics.counts["taken"]).to.equal(1);
    for (const { metrics } of others) expect(metrics.counts).not.to.have.property("taken");
  });

  it("is not seen by replicas of releases that had a lease for each namespace, nor sees them: they would refuse each other's records", async () => {
    const before = ["fence", "members", "lease:namespace/demo", `record:${topic}`, "interest:namespace/demo"];
    for (const key of before) await redis.command("SET", `bunting:${key}`, "of an earlier release");
    const { sinks } = await ownerAndFollower();
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    for (const key of before)
      expect(String(await redis.command("GET", `bunting:${key}`)), key).to.equal("of an earlier release");
    const keys = ((await redis.command("KEYS", "*")) as unknown[]).map(String);
    expect(keys.filter((key) => !key.startsWith("bunting:2:"))).to.have.length(before.length);
  });

  it("watches for itself while Redis is away, tells nobody anything twice, and shares again when it is back", async () => {
    const { replicas, sinks } = await ownerAndFollower();
    await redis.kill();
    await eventually(() => watchersOf(replicas) === 2, "watches of both");
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    await redis.restart();
    await eventually(() => replicas.every(({ report }) => report.state === "connected"), "Redis", 50_000);
    await eventually(() => watchersOf(replicas) === 1, "one watch again");
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    for (const sink of sinks) {
      expect(kinds(sink)).not.to.include("stale");
      const versions = versionsOf(sink);
      expect(versions).to.deep.equal([...versions].sort((a, b) => a - b));
    }
  }).timeout(90_000);

  it("takes no lease, and so no watches for others, before it relies on Redis again: one that comes and goes would have them come and go", async () => {
    const tcp = await FaultProxy.start(redis.port);
    stops.later(() => tcp.close());
    for (const one of [topic, "demo/other"] as const) cluster.publish(one);
    // Long enough to take a lease too early: membership and leases are renewed within it several times.
    const flapping = start({ stableMs: 3_000 }, `redis://127.0.0.1:${tcp.port}`);
    flapping.watch(topic);
    // It wants what it can't read, and so leaves the lease to the other one for as long as the test takes.
    const blind = start();
    blind.cluster.cut();
    blind.watch("demo/other");
    await eventually(() => flapping.cluster.watchCount === 2, "watches for both");
    tcp.blackhole(true);
    await eventually(() => flapping.report.state === "degraded", "that Redis is away");
    await eventually(() => flapping.metrics.counts["lost"] === 1, "the end of the lease");
    expect(flapping.cluster.watched).to.deep.equal([topic]);
    tcp.blackhole(false);
    await eventually(() => flapping.report.state === "recovering", "Redis", 20_000);
    let takenBefore: number | undefined;
    await eventually(
      () => {
        const usesRedis = flapping.report.state === "connected";
        if (!usesRedis) takenBefore = flapping.metrics.counts["taken"];
        return usesRedis;
      },
      "that Redis is relied on",
      30_000,
    );
    expect(takenBefore).to.equal(1);
    await eventually(() => flapping.cluster.watchCount === 2, "watches for both again");
  }).timeout(90_000);

  it("watches for itself while Redis has no memory left, and says why", async () => {
    const { replicas, sinks } = await ownerAndFollower();
    await redis.command("CONFIG", "SET", "maxmemory", "1");
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    await eventually(() => replicas.every(({ report }) => report.state === "degraded"), "that it says so");
    expect(watchersOf(replicas)).to.equal(2);
    for (const { report } of replicas) expect(report.reason).to.contain("OOM command not allowed");
  });

  it("starts without Redis", async () => {
    await redis.kill();
    cluster.publish(topic);
    const replica = start();
    await hasText(replica.watch(topic), cluster.get(topic));
    await eventually(() => replica.report.state === "degraded", "that it says so");
  });

  it("serves what Redis holds while no replica can read the cluster, as stale until one can", async () => {
    const { owner, follower } = await ownerAndFollower();
    const version = cluster.get(topic);
    await owner.stop();
    await follower.stop();
    const replica = start();
    replica.cluster.cut();
    const sink = replica.watch(topic);
    await hasText(sink, version);
    await eventually(() => sink.last?.kind === "stale", "that it is stale");
    expect(replica.source.hasSynced).to.equal(true);
    replica.cluster.mend();
    await eventually(() => sink.last?.kind === "document", "that it is confirmed");
    expect(sink.lastText).to.equal(textOf(version ?? ""));
  });

  it("has the owner confirm what it confirmed long ago, before it serves that as current", async () => {
    const { owner } = await ownerAndFollower({ compareMs: 60_000 });
    await redis.command("HSET", `bunting:2:record:${topic}`, "confirmed", "1000");
    const other = start({ compareMs: 60_000, leaseMs: 60_000 });
    const sink = other.watch(topic);
    await isConfirmed(topic, sink);
    expect(other.cluster.watchCount).to.equal(0);
    expect(owner.cluster.watchCount).to.equal(1);
  });

  it("learns that an owner has confirmed what that watches only because of the question", async () => {
    const { owner } = await ownerAndFollower({ compareMs: 60_000 });
    cluster.publish("demo/other");
    const leaving = new AbortController();
    await hasText(owner.watch("demo/other", leaving.signal), cluster.get("demo/other"));
    await eventually(
      async () => (await redis.command("EXISTS", "bunting:2:record:demo/other")) === 1,
      "the record",
    );
    leaving.abort();
    await redis.command("DEL", "bunting:2:interest");
    await redis.command("HSET", "bunting:2:record:demo/other", "confirmed", "1000");
    const other = start({ compareMs: 60_000, leaseMs: 60_000 });
    const sink = other.watch("demo/other");
    await isConfirmed("demo/other", sink);
    expect(other.cluster.watchCount).to.equal(0);
  });

  it("leaves topics to another replica when its own can't be read any more", async () => {
    const { owner, follower, ownerSink, followerSink } = await ownerAndFollower();
    owner.cluster.cut();
    cluster.publish(topic);
    await hasText(followerSink, cluster.get(topic));
    await hasText(ownerSink, cluster.get(topic));
    expect(follower.isOwner).to.equal(true);
    await eventually(() => ownerSink.last?.kind === "document", "the end of staleness");
    owner.cluster.mend();
    cluster.publish(topic);
    await hasText(ownerSink, cluster.get(topic));
  });

  it("watches a topic for itself as long as its record can't be used", async () => {
    const { follower, ownerSink, followerSink } = await ownerAndFollower();
    // Not even the owner can write an older one.
    const laterEpoch = Date.now() * 1_000;
    const planted = ["body", "no record", "epoch", laterEpoch, "version", "999999"];
    await redis.command("HSET", `bunting:2:record:${topic}`, ...planted);
    // Where the machine is busy, an owner loses its lease for a moment, and others watch because of that.
    const isRefused = (): boolean => follower.metrics.counts["refused record_malformed"] !== undefined;
    await eventually(() => isRefused() && follower.cluster.watchCount === 1, "a watch");
    expect(follower.lines.join("")).to.contain("can't be used");
    cluster.publish(topic);
    for (const sink of [ownerSink, followerSink]) await hasText(sink, cluster.get(topic));
    await redis.command("DEL", `bunting:2:record:${topic}`);
    await eventually(() => follower.cluster.watchCount === 0, "the end of the watch");
    for (const sink of [ownerSink, followerSink]) expect(kinds(sink)).not.to.include("stale");
  });

  it("has the owner write a record again that another replica can't read", async () => {
    // Nothing must end while the owner's bytes are held back, neither its lease nor one of its commands.
    const patient = { leaseMs: 60_000, memberMs: 60_000, commandTimeoutMs: 50_000 };
    const toRedis = await FaultProxy.start(redis.port);
    stops.later(() => toRedis.close());
    cluster.publish(topic);
    const owner = start(patient, `redis://127.0.0.1:${toRedis.port}`);
    await hasText(owner.watch(topic), cluster.get(topic));
    const body = async (): Promise<string> =>
      String(await redis.command("HGET", `bunting:2:record:${topic}`, "body"));
    await eventually(async () => owner.isOwner && (await body()) !== "null", "the owner's record");
    // Otherwise the owner might write the record anew, as the other replica asks for it, before that one has read it.
    toRedis.blackhole(true);
    await redis.command("HSET", `bunting:2:record:${topic}`, "body", "no record");
    const other = start();
    const sink = other.watch(topic);
    await eventually(
      () => other.metrics.counts["refused record_malformed"] !== undefined,
      "the record is refused",
    );
    expect(await body()).to.equal("no record");
    toRedis.blackhole(false);
    await eventually(async () => (await body()) !== "no record", "the record is written again");
    await hasText(sink, cluster.get(topic));
    await eventually(() => watchersOf([owner, other]) === 1, "one watch again");
  });

  it("goes on in a new epoch after the API server's store was restored", async () => {
    const { sinks } = await ownerAndFollower();
    cluster.restore(topic, "7");
    for (const sink of sinks) await hasText(sink, "7");
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, "8");
  });

  it("writes everything again where Redis was emptied", async () => {
    const { sinks, replicas } = await ownerAndFollower();
    await redis.command("FLUSHALL");
    await eventually(
      async () => (await redis.command("EXISTS", `bunting:2:record:${topic}`)) === 1,
      "the record",
    );
    cluster.publish(topic);
    for (const sink of sinks) await hasText(sink, cluster.get(topic));
    await eventually(() => watchersOf(replicas) === 1, "one watch again");
    for (const sink of sinks) expect(kinds(sink)).not.to.include("stale");
  });

  it("reads a followed topic once more by its owner", async () => {
    const { owner, follower } = await ownerAndFollower();
    await new Promise<void>((done) => void follower.source.refresh(topic, done));
    expect(follower.cluster.watchCount).to.equal(0);
    await new Promise<void>((done) => void owner.source.refresh(topic, done));
  });

  it("reads once more also what was asked for before the client of Redis was loaded, unless nobody waits any more", async () => {
    cluster.publish(topic);
    const replica = start();
    const sink = replica.watch(topic);
    const done: string[] = [];
    const cancel = replica.source.refresh(topic, () => done.push("left"));
    const asked = new Promise<void>((resolve) => {
      replica.source.refresh(topic, () => {
        done.push("asked");
        resolve();
      });
    });
    cancel();
    await asked;
    expect(sink.lastText).to.equal(textOf(cluster.get(topic) ?? ""));
    expect(done).to.deep.equal(["asked"]);
  });

  it("reads a followed topic for itself where its owner does not answer", async () => {
    const { owner, follower } = await ownerAndFollower();
    owner.cluster.isCut = true;
    await new Promise<void>((done) => void follower.source.refresh(topic, done));
    await eventually(() => follower.cluster.watchCount === 0, "the end of that watch");
  });
});
