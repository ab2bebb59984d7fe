import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "@bunting/runtime";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { FaultProxy } from "@bunting/test/support/fault-proxy.js";
import { modelSeeds } from "@bunting/test/support/seed.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { expect } from "chai";
import { AnnouncementReader } from "./announcement/announcement-reader.js";
import { Follower } from "./announcement/follower.js";
import type { BackplaneError } from "./backplane-error.js";
import { OwnerLease, type Lease } from "./lease/owner-lease.js";
import { comparePositions, type RecordPosition } from "./record/position.js";
import { unlimitedRoom } from "./record/unlimited-room.fixture.js";
import { RecordCodec } from "./record/record-codec.js";
import { RecordKeys } from "./record/record-keys.js";
import { Records } from "./record/records.js";
import type { StoredRecord } from "./record/topic-record.js";
import { needsRedisServer, RedisServer } from "./redis-server.fixture.js";
import { Stops, TestReplica } from "./replica.fixture.js";

/*
 * Three replicas that take turns to own three topics on one Redis, and follow them, while owners are stopped between reading and writing, connections are cut and
 * swallowed, Redis is stopped or killed, leases vanish, and the API server lags behind. Seen to fail without the check of versions in the script
 * that writes, without both its checks of numbers (either of them is enough here; records.test.ts has one test for each), and with a follower that
 * reports whatever it reads.
 */

const topics = ["demo/a", "demo/b", "demo/c"] as const;
const leaseMs = 400;
const fast = { commandTimeoutMs: 150, connectTimeoutMs: 300, compareMs: 200, shards: 2, announcements: 5 };

/** What the cluster has: the newest version of each topic. Owners read it, as a watch would. */
class Cluster {
  #last = 100;
  readonly newest = new Map<string, number>(topics.map((topic) => [topic, 100]));

  /** What a watch reports: the newest version, or, from an API server that lags behind, an older one. */
  read(topic: string, random: () => number): number {
    const newest = this.newest.get(topic) ?? 0;
    return random() < 0.2 ? Math.max(1, newest - 20) : newest;
  }

  edit(topic: string): void {
    this.newest.set(topic, ++this.#last);
  }
}

/** Everything that was ever reported to the readers of one follower; fails when one goes backwards. */
class Reader {
  readonly reported = new Map<string, RecordPosition & { readonly fence: number }>();
  readonly wrongs: string[] = [];

  take({ record, fence }: StoredRecord): void {
    const { topic, epoch, resourceVersion, document } = record;
    const before = this.reported.get(topic);
    const now = { epoch, resourceVersion, fence };
    const what = `${topic}: ${JSON.stringify(before)}, then ${JSON.stringify(now)}`;
    if (before !== undefined && comparePositions(now, before) <= 0) this.wrongs.push(`backwards: ${what}`);
    if (before !== undefined && fence < before.fence) this.wrongs.push(`an older owner: ${what}`);
    if (JSON.stringify(document) !== JSON.stringify(documentOf(Number(resourceVersion))))
      this.wrongs.push(`the document of another version: ${what}`);
    this.reported.set(topic, now);
  }
}

function documentOf(version: number): { flags: { f: { state: string } } } {
  return { flags: { f: { state: `v${version}` } } };
}

/** One replica: it writes any topic while it has the lease, and follows all. */
class ModelReplica {
  readonly reader = new Reader();
  /** While true it does nothing, like a process that is stopped; then it goes on with what it believed. */
  isPaused = false;
  readonly fences: number[] = [];
  readonly refusals = new Map<string, number>();
  readonly name: string;
  readonly #replica: TestReplica;
  readonly #cluster: Cluster;
  readonly #random: () => number;
  readonly #ownerLease: OwnerLease;
  readonly #records: Records;
  #held: Lease | undefined;
  readonly #stopping = new AbortController();

  constructor(name: string, address: string, cluster: Cluster, random: () => number) {
    this.name = name;
    this.#cluster = cluster;
    this.#random = random;
    this.#replica = new TestReplica({ address, ...fast });
    const { connection, keys, options, logger } = this.#replica;
    const clock = systemClock;
    this.#ownerLease = new OwnerLease({ connection, keys, holder: name, leaseMs, clock });
    const codec = new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom);
    this.#records = new Records({ connection, keys, codec, ...options, clock: systemClock });
    const follower = new Follower({
      records: this.#records,
      room: unlimitedRoom,
      compareMs: options.compareMs,
      clock,
    });
    const announcements = new AnnouncementReader({
      ...{ options, keys, context: { clock, logger } },
      onAnnounced: (topic, position) => follower.announced(topic, position),
      onGap: () => follower.compare(),
    });
    const ignore = (): void => undefined;
    for (const topic of topics) {
      const sink = {
        record: (stored: StoredRecord) => {
          this.reader.take(stored);
          return true;
        },
        ...{ isUnconfirmed: false, confirmed: ignore, absent: ignore, refused: ignore },
      };
      const leaving = new AbortController();
      this.#stopping.signal.addEventListener("abort", () => leaving.abort());
      follower.follow(topic, sink, leaving.signal);
    }
    this.#replica.run((signal) =>
      Promise.all([follower.run(signal), announcements.run(signal), this.#own(signal)]),
    );
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#replica.stop();
  }

  /** Takes leases and writes what the cluster has, with pauses anywhere between. */
  async #own(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const topic = topics[Math.floor(this.#random() * topics.length)] ?? "demo/a";
      try {
        await this.#step(topic);
      } catch (error) {
        const { code } = error as BackplaneError;
        this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
        if (code === "FENCED") this.#held = undefined;
      }
      await this.#whilePaused(signal);
    }
  }

  async #step(topic: (typeof topics)[number]): Promise<void> {
    // Without a look at the time that is left: a process that was stopped believes in its lease.
    let lease = this.#held;
    if (lease === undefined) {
      lease = await this.#ownerLease.acquire();
      if (lease === undefined) return;
      this.fences.push(lease.fence);
      this.#held = lease;
    } else if (this.#random() < 0.5 && (await this.#ownerLease.renew(lease)) === undefined)
      this.#held = undefined;
    const version = this.#cluster.read(topic, this.#random);
    // Owners are stopped just here, with what they have read and not yet written.
    await this.#whilePaused();
    const record = {
      topic,
      kind: "document",
      epoch: 1,
      resourceVersion: String(version),
      document: documentOf(version),
    } as const;
    await this.#records.write(record, lease);
    if (this.#random() < 0.05) {
      this.#held = undefined;
      await this.#ownerLease.release(lease);
    }
  }

  async #whilePaused(signal = this.#stopping.signal): Promise<void> {
    do await new Promise((resolve) => setTimeout(resolve, 2));
    while (this.isPaused && !signal.aborted);
  }
}

/** Reads like replicas that start just then, and have nothing to compare with. Returns what went backwards in Redis itself. */
async function watchRecords(address: string, signal: AbortSignal): Promise<readonly string[]> {
  const replica = new TestReplica({ address, ...fast });
  const { connection, keys, options } = replica;
  const codec = new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom);
  const records = new Records({ connection, keys, codec, ...options, clock: systemClock });
  const last = new Map<string, RecordPosition>();
  const wrongs: string[] = [];
  while (!signal.aborted) {
    // Where Redis is away, there is nothing to see.
    for (const [topic, now] of await records
      .positions(topics)
      .catch(() => new Map<string, RecordPosition>())) {
      const before = last.get(topic);
      if (before !== undefined && comparePositions(now, before) < 0)
        wrongs.push(`Redis went backwards: ${topic}: ${JSON.stringify([before, now])}`);
      last.set(topic, now);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await replica.stop();
  return wrongs;
}

describe("Replicas on one Redis", () => {
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  afterEach(() => stops.stop());

  for (const seed of modelSeeds(3)) {
    it(`never go backwards and end at the last version, whatever fails (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const server = stops.add(await RedisServer.start("--appendonly", "yes", "--appendfsync", "always"));
      const cluster = new Cluster();
      const watching = new AbortController();
      const watched = watchRecords(server.address, watching.signal);
      stops.later(async () => {
        watching.abort();
        await watched;
      });
      const replicas: ModelReplica[] = [];
      const proxies: FaultProxy[] = [];
      for (const name of ["r0", "r1", "r2"]) {
        const proxy = await FaultProxy.start(server.port);
        stops.later(() => proxy.close());
        proxies.push(proxy);
        replicas.push(
          stops.add(
            new ModelReplica(
              name,
              `redis://127.0.0.1:${proxy.port}`,
              cluster,
              seededRandom(seed * 7 + replicas.length),
            ),
          ),
        );
      }
      const wait = async (ms: number): Promise<void> => {
        const untilMs = performance.now() + ms;
        while (performance.now() < untilMs) {
          cluster.edit(topics[Math.floor(random() * topics.length)] ?? "");
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      for (let fault = 0; fault < 12; fault++) {
        const victim = Math.floor(random() * 3);
        const [replica, proxy] = [replicas[victim], proxies[victim]];
        if (replica === undefined || proxy === undefined) continue;
        const kind = Math.floor(random() * 6);
        if (kind === 0) {
          replica.isPaused = true;
          await wait(leaseMs * 1.5);
          replica.isPaused = false;
        } else if (kind === 1) {
          proxy.blackhole(true);
          await wait(leaseMs * 1.5);
          proxy.blackhole(false);
        } else if (kind === 2) proxy.cut();
        else if (kind === 3) {
          server.pause();
          await wait(300);
          server.resume();
        } else if (kind === 4) {
          await server.kill();
          await wait(100);
          await server.restart();
        } else {
          await server.command("DEL", "bunting:2:lease");
        }
        await wait(150);
      }
      const isAtEnd = ({ reader }: ModelReplica): boolean =>
        topics.every(
          (topic) => reader.reported.get(topic)?.resourceVersion === String(cluster.newest.get(topic)),
        );
      await eventually(() => replicas.every(isAtEnd), "the last version everywhere").catch(
        (error: unknown) => {
          throw new Error(
            `${(error as Error).message}: ${JSON.stringify(replicas.map(({ reader }) => [...reader.reported]))}`,
          );
        },
      );
      expect(replicas.flatMap(({ reader }) => reader.wrongs)).to.deep.equal([]);
      watching.abort();
      expect(await watched).to.deep.equal([]);
      const fences = replicas.flatMap((replica) => replica.fences);
      expect(new Set(fences).size).to.be.greaterThan(topics.length);
    });
  }

  it("are safe from an owner that was stopped for longer than its lease, whatever it believes", async () => {
    const server = stops.add(await RedisServer.start());
    const lines = new EventQueue<string>();
    const child = startOwner(server.address, lines);
    stops.later(() => end(child));
    const { connection, keys } = stops.add(await TestReplica.connected({ address: server.address, ...fast }));
    const codec = new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom);
    const records = new Records({ connection, keys, codec, shards: 2, announcements: 5, clock: systemClock });
    const ownerLease = new OwnerLease({
      connection,
      keys,
      holder: "next",
      leaseMs: 60_000,
      clock: systemClock,
    });
    expect(await lines.nextMatching((line) => line === "written 20")).to.equal("written 20");
    child.kill("SIGSTOP");
    let lease: Lease | undefined;
    await eventually(async () => {
      lease = await ownerLease.acquire();
      return lease !== undefined;
    }, "the lease of the stopped owner");
    if (lease === undefined) return expect.fail("it is held");
    // The version that is there already: what the old owner writes next is newer, and only the number keeps it out.
    const stored = (await records.read("demo/a"))?.record;
    if (stored === undefined) return expect.fail("it was written");
    await records.write(stored, lease);
    child.kill("SIGCONT");
    await lines.nextMatching((line) => line === "FENCED", "the refusal");
    expect((await records.read("demo/a"))?.record).to.deep.equal(stored);
  });
});

/** An owner in a process of its own, which writes as fast as it can. */
function startOwner(address: string, lines: EventQueue<string>): ChildProcess {
  const script = path.join(import.meta.dirname, "owner.child.ts");
  const child = spawn(process.execPath, ["--conditions=@bunting/source", "--import=tsx", script, address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
  await nextTurn();
}
