import { writeFileSync } from "node:fs";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { canonicalJson, type JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { editEveryMs } from "../support/flowing-edits.js";
import { HeldFlags } from "../support/held-flags.js";
import { patient } from "../support/patience.js";
import { readMetric } from "../support/read-metric.js";
import { ReplicatedWorld, type WorldOptions } from "../support/replicated-world.js";
import type { Replica } from "../support/replica.js";
import { testScale } from "../support/scale.js";

/** The default of --backplane-lease. */
const leaseMs = 5_000;
/** What a machine with busy cores adds, so that a gate which runs much at once measures hangs only; 1500 on a quiet machine. */
const slackMs = Number(process.env["BUNTING_TEST_SLACK_MS"] ?? patient(20_000));
/** The bound for edits that are made during a fault, and one edit's distance. */
const withinMs = leaseMs + 2_000 + editEveryMs + slackMs;

function flagOf(now: number): JsonObject {
  return { state: "ENABLED", variants: { now }, defaultVariant: "now" };
}

/** Everyone ends at the newest, nobody goes backwards, and edits arrive while the fault lasts. `except`: whose subscribers it cuts off. */
async function judge(world: ReplicatedWorld, except?: Replica): Promise<void> {
  const { backwards, behindMs } = await world.judge(except);
  expect(backwards, world.output).to.deep.equal([]);
  expect(behindMs, world.output).to.be.lessThan(withinMs);
}

describe("three replicas of bunting-proxy on one Redis", function () {
  this.timeout(180_000);
  const cleanUps: (() => unknown)[] = [];
  let redis: RedisServer;
  let world: ReplicatedWorld;
  before(function () {
    needsRedisServer(this);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  const startRedis = async (...args: readonly string[]): Promise<RedisServer> => {
    const started = await RedisServer.start(...args);
    cleanUps.push(() => started.stop());
    return started;
  };
  const prepare = async (options: WorldOptions = {}): Promise<void> => {
    world = await ReplicatedWorld.prepare(redis, options);
    cleanUps.push(() => world.stop());
  };
  /** Begins to edit, and to measure when everybody has an edit of now. */
  const flow = async (): Promise<void> => {
    world.edits.put();
    await world.allHaveTheNewest();
    world.edits.begin();
    await world.edits.more(5);
    world.measure();
  };
  /** With subscribers, edits that flow, and one watch for each FeatureFlag. */
  const start = async (options: WorldOptions = {}): Promise<void> => {
    await prepare(options);
    await world.startReplicas();
    await world.subscribe();
    await world.watchesOfEach(1);
    await flow();
  };

  /** Kills a replica, and waits for the next owner if it was the owner. */
  const kill = async (replica: Replica): Promise<void> => {
    const wasOwner = world.owner() === replica;
    await world.kill(replica);
    if (wasOwner) await world.watchesOfEach(0);
    await world.watchesOfEach(1);
  };

  describe("that go through one fault after the other", () => {
    let goingOn: { readonly world: ReplicatedWorld; readonly redis: RedisServer } | undefined;
    const end = async (): Promise<void> => {
      await goingOn?.world.stop();
      await goingOn?.redis.stop();
      goingOn = undefined;
    };
    beforeEach(async () => {
      if (goingOn === undefined) {
        redis = await RedisServer.start();
        world = await ReplicatedWorld.prepare(redis, {
          args: ["--drain-delay", "0", "--drain-window", "1s"],
        });
        goingOn = { world, redis };
        await world.startReplicas();
        await world.subscribe();
      } else await world.startReplicas();
      await world.watchesOfEach(1);
      await flow();
    });
    afterEach(async function () {
      // What a test has left behind that failed must not make the next one fail.
      if (this.currentTest?.state === "failed") await end();
    });
    after(end);

    it("have one watch for each FeatureFlag between them, and all subscribers get all edits", async () => {
      await world.edits.during(2_000);
      await judge(world);
      await world.watchesOfEach(1);
    });

    it("go on when the owner is killed", async () => {
      await kill(world.owner());
      await world.edits.during(2_000);
      await judge(world);
      await world.watchesOfEach(1);
    });

    it("go on when the owner is stopped for longer than its lease, which overwrites nothing when it continues", async () => {
      const owner = world.owner();
      owner.signal("SIGSTOP");
      // The API server does not know that nobody reads one of them.
      await world.watchesOfEach(2);
      await world.edits.during(1_000);
      owner.signal("SIGCONT");
      await world.edits.during(2_000);
      await judge(world, owner);
      await world.watchesOfEach(1);
    });

    it("watch for themselves while Redis is away, and share again when it is back, empty", async () => {
      await redis.kill();
      await world.watchesOfEach(3);
      await world.edits.during(2_000);
      await redis.restart();
      await world.watchesOfEach(1);
      await judge(world);
    });

    it("watch for themselves while Redis hangs, and share again when it does not", async () => {
      redis.pause();
      cleanUps.push(() => redis.resume());
      await world.watchesOfEach(3);
      await world.edits.during(2_000);
      redis.resume();
      await world.watchesOfEach(1);
      await judge(world);
    });

    it("go on when the owner can't reach Redis", async () => {
      const owner = world.owner();
      owner.toRedis.blackhole(true);
      await world.watchesOfEach(2);
      await world.edits.during(2_000);
      owner.toRedis.cut();
      owner.toRedis.blackhole(false);
      await world.watchesOfEach(1);
      await judge(world);
    });

    it("go on when the owner can't reach the API server", async () => {
      const owner = world.owner();
      await owner.toApi.refuse(true);
      owner.toApi.cut();
      await world.watchesOfEach(0);
      await world.watchesOfEach(1);
      expect(world.owner().name).not.to.equal(owner.name);
      await owner.toApi.refuse(false);
      await world.edits.during(2_000);
      await judge(world);
      await world.watchesOfEach(1);
    });

    it("go on when packets between the owner and the API server get lost", async () => {
      const owner = world.owner();
      owner.toApi.blackhole(true);
      // The API server does not know that nobody reads one of them.
      await world.watchesOfEach(2);
      await world.edits.during(2_000);
      owner.toApi.cut();
      owner.toApi.blackhole(false);
      await world.edits.during(2_000);
      await judge(world);
      await world.watchesOfEach(1);
    });

    it("are updated one by one without anybody noticing", async () => {
      for (const old of world.replicas) {
        expect(await world.replace(old), old.proxy.process.output).to.equal(0);
        await world.edits.during(2_000);
      }
      await judge(world);
      await world.watchesOfEach(1);
    });

    it("serve what Redis has when all start without the API server, as stale until it is back", async () => {
      world.edits.end();
      await world.allHaveTheNewest();
      await world.api.stop();
      await Promise.all(world.replicas.map((old) => world.replace(old)));
      const states = async (state: string): Promise<number[]> =>
        Promise.all(
          world.replicas.map(({ proxy }) =>
            readMetric(proxy.management, `bunting_proxy_topic_topics{state="${state}"}`, 0),
          ),
        );
      const all = world.topics.length;
      const areStale = async (): Promise<boolean> => (await states("stale")).every((count) => count === all);
      await eventually(areStale, "all topics are served as stale", 60_000);
      world.edits.put();
      await world.api.resume();
      await eventually(
        async () => (await states("live")).every((count) => count === all),
        "all topics are confirmed",
      );
      const { backwards } = await world.judge();
      expect(backwards).to.deep.equal([]);
      await world.watchesOfEach(1);
    });
  });

  it("bring agents that come from before a restart of all replicas, with edits before and meanwhile, to the newest by a delta", async () => {
    redis = await startRedis();
    await prepare();
    const topic = "team-a/wide";
    const ballast = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`other-${i}`, flagOf(0)]));
    /** Returns the version that the FeatureFlag has now. */
    const edit = (key: string): string | undefined =>
      world.api.put("team-a", "wide", { flagSpec: { flags: { ...ballast, [key]: flagOf(1) } } }).metadata
        .resourceVersion;
    const agentAt = async ({ port }: Replica): Promise<AgentClientStream> => {
      const connection = await AgentConnection.open(port);
      cleanUps.push(() => connection.close());
      return connection.stream();
    };
    edit("other-1");
    await world.startReplicas();
    const agents = await Promise.all(world.replicas.map(agentAt));
    for (const agent of agents) agent.subscribe(topic);
    const [held, ...same] = await Promise.all(agents.map((agent) => agent.next("snapshot")));
    for (const { version } of same) expect(version?.digest).to.deep.equal(held?.version?.digest);
    for (const agent of agents) agent.ack(topic, held?.version?.digest);
    // Of the way from there, Redis alone will know.
    const recorded = edit("other-2");
    for (const agent of agents) await agent.next("delta");
    const inRedis = (): Promise<unknown> => redis.command("HGET", `bunting:2:record:${topic}`, "version");
    await eventually(async () => (await inRedis()) === recorded, "the record");
    for (const replica of world.replicas) await world.kill(replica);
    const newest = edit("other-3");
    await world.startReplicas();
    // The next owner reads the API server and Redis, and tells what comes first: agents that ask it before it has put both together get all flags.
    await eventually(async () => (await inRedis()) === newest, "the record of the next owner", 60_000);
    const [replica] = world.replicas;
    if (replica === undefined || held === undefined) throw new Error("there are three");
    const moved = await agentAt(replica);
    moved.subscribe(topic, held.version);
    let now = HeldFlags.ofSnapshot(held);
    while (now.flags.get("other-3") !== canonicalJson(flagOf(1))) {
      const delta = await moved.next("delta");
      now = now.apply(delta);
      expect(now.digest).to.equal(delta.version?.digest.toString("hex"));
      moved.ack(topic, delta.version?.digest);
    }
    expect(moved.receivedBytes).to.be.lessThan(2_000);
  });

  // Half a minute, mostly of leases that end.
  if (testScale === "full")
    it("do not care about clocks that are an hour ahead, or behind, and jump by another hour", async () => {
      redis = await startRedis();
      await start({ clockShiftsMs: [3_600_000, -3_600_000] });
      const [ahead, behind, right] = world.replicas;
      if (ahead === undefined || behind === undefined || right === undefined)
        throw new Error("three were started");
      for (const wrong of [ahead, behind]) wrong.setClock();
      await world.edits.during(2_000);
      await kill(right);
      // Either may be the owner now; the one that is left is the owner at last.
      const [first, last] = world.owner() === ahead ? [ahead, behind] : [behind, ahead];
      for (const wrong of [first, last]) wrong.setClock();
      await world.edits.during(2_000);
      await kill(first);
      expect(new Set(world.topics.map((topic) => world.owner(topic)))).to.deep.equal(new Set([last]));
      last.setClock();
      await world.edits.during(2_000);
      await judge(world);
    });

  it("watch for themselves as long as Redis refuses their password", async () => {
    redis = await startRedis("--requirepass", "right");
    const passwordFile = redis.directory.file("password");
    writeFileSync(passwordFile, "wrong");
    await prepare({ args: ["--backplane-password-file", passwordFile] });
    await world.startReplicas();
    await world.subscribe();
    await world.watchesOfEach(3);
    await flow();
    writeFileSync(passwordFile, "right");
    await world.watchesOfEach(1);
    await judge(world);
  });

  it("go on when a Sentinel makes another Redis the master", async () => {
    redis = await startRedis();
    const second = await startRedis("--replicaof", "127.0.0.1", String(redis.port));
    const config = redis.directory.file("sentinel.conf");
    const lines = [
      `sentinel monitor main 127.0.0.1 ${redis.port} 1`,
      "sentinel down-after-milliseconds main 500",
      "sentinel failover-timeout main 3000",
      "",
    ];
    writeFileSync(config, lines.join("\n"));
    const sentinel = await RedisServer.startSentinel(config);
    cleanUps.push(() => sentinel.stop());
    const knowsSecond = async (): Promise<boolean> =>
      ((await sentinel.command("SENTINEL", "REPLICAS", "main")) as unknown[]).length === 1;
    await eventually(knowsSecond, "the Sentinel knows the second one");
    await start({ backplane: `redis+sentinel://127.0.0.1:${sentinel.port}/main` });
    await redis.kill();
    // It ends connections when it becomes the master.
    const isMaster = async (): Promise<boolean> =>
      second.command("ROLE").then(
        (role) => String((role as unknown[])[0]) === "master",
        () => false,
      );
    await eventually(isMaster, "the second one is the master");
    await world.edits.during(leaseMs);
    await world.watchesOfEach(1);
    await judge(world);
  });
});
