import { setTimeout as delay } from "node:timers/promises";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import type { TopicKey } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FaultProxy } from "@bunting/test/support/fault-proxy.js";
import { modelSeeds } from "@bunting/test/support/seed.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { expect } from "chai";
import type { RecordingSink } from "../source.fixture.js";
import { BackplaneReplica, TestCluster, textOf } from "./backplane.fixture.js";

/*
 * Replicas that share topics on one Redis, with subscribers that come and go on each, while topics are edited, deleted and come back, and while
 * replicas stop, start, and lose Redis or the cluster, and Redis hangs, dies and comes back empty. What a subscriber is told must go forward in the
 * history of its topic; and when all faults are over, everyone must have the newest, nothing may be said to be stale, and one replica watch each topic.
 *
 * BUNTING_MODEL_STEPS sets how many steps each takes.
 */

const topics: readonly TopicKey[] = ["a/one", "a/two", "b/one", "c/one"];
const seeds = modelSeeds(3);
const steps = Number(process.env["BUNTING_MODEL_STEPS"] ?? 120);
/** Of the watches of each replica. */
const lagsMs = [0, 20, 300];
/** Redis has to have worked for so long before replicas rely on it again, doubled by each relapse. */
const healMs = 300_000;

interface Subscriber {
  readonly topic: TopicKey;
  readonly sink: RecordingSink;
  readonly leaving: AbortController;
}

/** One replica, its way to Redis, and its subscribers. */
class ModelReplica {
  readonly tcp: FaultProxy;
  readonly #cluster: TestCluster;
  readonly #lagMs: number;
  #replica: BackplaneReplica;
  subscribers: Subscriber[] = [];
  /** Those who left included. */
  readonly all: Subscriber[] = [];

  private constructor(tcp: FaultProxy, cluster: TestCluster, lagMs: number) {
    this.#lagMs = lagMs;
    this.tcp = tcp;
    this.#cluster = cluster;
    this.#replica = this.#start();
  }

  static async start(redis: RedisServer, cluster: TestCluster, lagMs: number): Promise<ModelReplica> {
    return new ModelReplica(await FaultProxy.start(redis.port), cluster, lagMs);
  }

  get now(): BackplaneReplica {
    return this.#replica;
  }

  subscribe(topic: TopicKey): void {
    const leaving = new AbortController();
    const subscriber = { topic, leaving, sink: this.#replica.watch(topic, leaving.signal) };
    this.subscribers.push(subscriber);
    this.all.push(subscriber);
  }

  unsubscribe(index: number): void {
    const [left] = this.subscribers.splice(index, 1);
    left?.leaving.abort();
  }

  async restart(): Promise<void> {
    const { subscribers } = this;
    await this.stop();
    this.#replica = this.#start();
    for (const { topic } of subscribers) this.subscribe(topic);
  }

  async stop(): Promise<void> {
    for (const { leaving } of this.subscribers) leaving.abort();
    this.subscribers = [];
    await this.#replica.stop();
  }

  #start(): BackplaneReplica {
    const replica = new BackplaneReplica(this.#cluster, `redis://127.0.0.1:${this.tcp.port}`);
    replica.cluster.lagMs = this.#lagMs;
    return replica;
  }
}

class Model {
  readonly #random: () => number;
  readonly #redis: RedisServer;
  readonly #cluster: TestCluster;
  readonly #replicas: readonly ModelReplica[];
  readonly log: string[] = [];
  #isRedisDead = false;
  #isRedisPaused = false;

  constructor(seed: number, redis: RedisServer, cluster: TestCluster, replicas: readonly ModelReplica[]) {
    this.#random = seededRandom(seed);
    this.#redis = redis;
    this.#cluster = cluster;
    this.#replicas = replicas;
  }

  async step(): Promise<void> {
    const actions: readonly (readonly [weight: number, name: string, act: () => unknown])[] = [
      [30, "edit", () => this.#cluster.publish(this.#pick(topics))],
      [4, "delete", () => this.#delete(this.#pick(topics))],
      [10, "subscribe", () => this.#subscribe()],
      [6, "unsubscribe", () => this.#unsubscribe()],
      [3, "restart a replica", () => this.#pick(this.#replicas).restart()],
      [4, "cut a replica's connections to Redis", () => this.#pick(this.#replicas).tcp.cut()],
      [3, "swallow what a replica says to Redis", () => this.#pick(this.#replicas).tcp.blackhole(true)],
      [6, "forward it again", () => this.#pick(this.#replicas).tcp.blackhole(false)],
      [4, "cut a replica from the cluster", () => this.#pick(this.#replicas).now.cluster.cut()],
      [6, "mend that", () => this.#mend(this.#pick(this.#replicas))],
      [2, "kill Redis", () => this.#killRedis()],
      [3, "restart Redis, empty", () => this.#restartRedis()],
      [2, "stop Redis", () => this.#pauseRedis(true)],
      [4, "continue Redis", () => this.#pauseRedis(false)],
      [2, "flush Redis", () => this.#flush()],
      [10, "wait", () => delay(this.#random() * 400)],
      [3, "wait for longer than a lease", () => delay(700)],
    ];
    let at = this.#random() * actions.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, name, act] of actions) {
      at -= weight;
      if (at >= 0) continue;
      this.log.push(name);
      await act();
      break;
    }
    // What was said meanwhile is looked at, so that a failure is near its cause.
    await delay(this.#random() * 30);
    this.#check();
  }

  async heal(): Promise<void> {
    this.log.push("heal");
    this.#pauseRedis(false);
    await this.#restartRedis();
    for (const replica of this.#replicas) {
      replica.tcp.blackhole(false);
      this.#mend(replica);
    }
  }

  async expectNewest(): Promise<void> {
    for (const { subscribers } of this.#replicas)
      for (const { topic, sink } of subscribers) {
        const version = this.#cluster.get(topic);
        await eventually(
          () =>
            version === undefined
              ? ["missing", "deleted"].includes(sink.last?.kind ?? "")
              : sink.last?.kind === "document" && sink.lastText === textOf(version),
          `${topic} at ${version}, and not ${JSON.stringify(sink.events.slice(-3))}`,
          healMs,
        );
      }
    this.#check();
  }

  async expectOneWatchEach(): Promise<void> {
    for (const { now } of this.#replicas)
      await eventually(() => now.report.state === "connected", "that Redis is relied on", healMs);
    const wanted = new Set(
      this.#replicas.flatMap(({ subscribers }) => subscribers.map(({ topic }) => topic)),
    );
    const watched = (): readonly TopicKey[] =>
      this.#replicas.flatMap(({ now }) => now.cluster.watched).sort();
    const expected = [...wanted].sort().join();
    await eventually(() => watched().join() === expected, `one watch for each of ${expected}`, healMs).catch(
      (error: unknown) => {
        throw new Error(`${(error as Error).message}, but ${watched().join()}`);
      },
    );
  }

  #check(): void {
    for (const { topic, sink } of this.#replicas.flatMap(({ all }) => all)) {
      const versions = sink.events.flatMap((event) =>
        event.kind === "document" ? [Number(event.version.resourceVersion)] : [],
      );
      const backwards = versions.findIndex((version, index) => version < (versions[index - 1] ?? 0));
      expect(backwards, `${topic} went backwards: ${versions.join()}`).to.equal(-1);
    }
  }

  #subscribe(): void {
    const replica = this.#pick(this.#replicas);
    const topic = this.#pick(topics);
    if (replica.subscribers.some((subscriber) => subscriber.topic === topic)) return;
    replica.subscribe(topic);
  }

  #unsubscribe(): void {
    const replica = this.#pick(this.#replicas);
    replica.unsubscribe(Math.floor(this.#random() * replica.subscribers.length));
  }

  #delete(topic: TopicKey): void {
    if (this.#cluster.get(topic) !== undefined) this.#cluster.delete(topic);
  }

  #mend(replica: ModelReplica): void {
    if (replica.now.cluster.isCut) replica.now.cluster.mend();
  }

  async #killRedis(): Promise<void> {
    if (this.#isRedisDead) return;
    this.#isRedisDead = true;
    this.#isRedisPaused = false;
    await this.#redis.kill();
  }

  async #restartRedis(): Promise<void> {
    if (!this.#isRedisDead) return;
    await this.#redis.restart();
    this.#isRedisDead = false;
  }

  #pauseRedis(isPaused: boolean): void {
    if (this.#isRedisDead || this.#isRedisPaused === isPaused) return;
    this.#isRedisPaused = isPaused;
    if (isPaused) this.#redis.pause();
    else this.#redis.resume();
  }

  async #flush(): Promise<void> {
    if (!this.#isRedisDead && !this.#isRedisPaused) await this.#redis.command("FLUSHALL");
  }

  #pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.#random() * from.length)];
    if (picked === undefined) throw new Error("there is nothing to pick from");
    return picked;
  }
}

describe("replicas on one Redis, as a model", () => {
  before(function () {
    needsRedisServer(this);
  });

  for (const seed of seeds)
    it(`tell everyone what is later only, and the newest in the end (seed ${seed})`, async () => {
      const redis = await RedisServer.start();
      const cluster = new TestCluster();
      for (const topic of topics.slice(0, 2)) cluster.publish(topic);
      const replicas = await Promise.all(lagsMs.map((lagMs) => ModelReplica.start(redis, cluster, lagMs)));
      const model = new Model(seed, redis, cluster, replicas);
      try {
        for (let step = 0; step < steps; step++) await model.step();
        await model.heal();
        await model.expectNewest();
        await model.expectOneWatchEach();
        await model.expectNewest();
      } catch (error) {
        throw new Error(`seed ${seed}, after ${model.log.join(", ")}`, { cause: error });
      } finally {
        for (const replica of replicas) {
          replica.tcp.blackhole(false);
          await replica.stop();
          await replica.tcp.close();
        }
        await redis.stop();
      }
    }).timeout(2 * healMs);
});
