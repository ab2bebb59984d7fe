import { setTimeout as delay } from "node:timers/promises";
import { RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { eventually, patienceMs } from "../../support/event-queue.js";
import { expectSubsequence } from "../../support/expect-subsequence.js";
import { FaultyApiServer } from "../../support/faulty-api-server/index.js";
import { seededRandom } from "../../support/seeded-random.js";
import { ModelAgent } from "./model-agent.js";
import { ModelReplica } from "./model-replica.js";
import { RedisHistory } from "./redis-history.js";
import { empty, flagsOf } from "./version-flags.js";
import { judgeQuiet } from "./judge-quiet.js";

const topics = ["a/one", "a/two", "b/one"];
const replicaCount = 3;
const agentsOfTopic = 3;
/** Longer than a lease, and a little. */
const longMs = 1_400;
/** Redis has to have worked for so long before replicas rely on it again, doubled by each relapse. */
const healMs = 300_000;
type Action = readonly [weight: number, name: string, act: () => unknown];

/** Three replicas, their Redis and their API server, and agents that go from one replica to another. */
export class ReplicasModel {
  /** What was done, and when. */
  readonly #log: string[] = [];
  readonly #random: () => number;
  readonly #api: FaultyApiServer;
  readonly #redis: RedisServer;
  readonly #redisHistory: RedisHistory;
  readonly #history = new Map<string, string[]>(topics.map((topic) => [topic, []]));
  readonly #agents: ModelAgent[] = [];
  readonly #leaving: Promise<void>[] = [];
  #replicas: ModelReplica[] = [];
  #version = 0;
  #started = 0;
  #isRedisDead = false;
  #isRedisPaused = false;
  #isReadOnly = false;

  private constructor(seed: number, api: FaultyApiServer, redis: RedisServer) {
    this.#random = seededRandom(seed);
    this.#api = api;
    this.#redis = redis;
    this.#redisHistory = new RedisHistory(redis, topics);
  }

  static async start(seed: number): Promise<ReplicasModel> {
    const model = new ReplicasModel(seed, await FaultyApiServer.start(), await RedisServer.start());
    for (const topic of topics) model.#edit(topic);
    while (model.#replicas.length < replicaCount) await model.#startReplica();
    for (let index = 0; index < agentsOfTopic * topics.length; index++) {
      const topic = topics[index % topics.length] ?? "";
      model.#agents.push(await ModelAgent.start(topic, model.#pick(model.#replicas).proxy.port));
    }
    return model;
  }

  async step(): Promise<void> {
    const actions: readonly Action[] = [
      [30, "edit", () => this.#edit(this.#pick(topics))],
      [6, "edit in a burst", () => this.#burst(this.#pick(topics))],
      [5, "delete", () => this.#delete(this.#pick(topics))],
      [8, "move an agent", () => this.#move(this.#pick(this.#agents))],
      [2, "swallow what an agent and its replica say", () => this.#pick(this.#agents).way.blackhole(true)],
      [3, "forward it again", () => this.#pick(this.#agents).way.blackhole(false)],
      [3, "kill a replica", () => this.#replace((replica) => replica.die())],
      [3, "stop a replica", () => this.#replace((replica) => replica.stop())],
      [3, "freeze a replica", () => this.#pick(this.#replicas).freeze(true)],
      [4, "let a replica go on", () => this.#pick(this.#replicas).freeze(false)],
      [3, "cut a replica from Redis", () => this.#pick(this.#replicas).toRedis.cut()],
      [3, "refuse a replica at Redis", () => this.#refuse(this.#pick(this.#replicas).toRedis)],
      [3, "lose packets between a replica and Redis", () => this.#lose(this.#pick(this.#replicas).toRedis)],
      [3, "cut a replica from the API server", () => this.#pick(this.#replicas).toApi.cut()],
      [3, "refuse a replica at the API server", () => this.#refuse(this.#pick(this.#replicas).toApi)],
      [3, "slow what the API server says", () => this.#pick(this.#replicas).toApi.slow(4_096, 20)],
      [8, "mend all ways of a replica", () => this.#mend(this.#pick(this.#replicas))],
      [2, "restart the API server", () => this.#api.restart({ requests: 1 })],
      [2, "forget history in the API server", () => this.#api.compact()],
      [2, "restore etcd", () => this.#restore()],
      [2, "kill Redis", () => this.#killRedis()],
      [4, "start Redis, empty", () => this.#startRedis()],
      [2, "stop Redis", () => this.#pauseRedis(true)],
      [4, "continue Redis", () => this.#pauseRedis(false)],
      [2, "flush Redis", () => this.#isReadOnly || this.#flushRedis()],
      [1, "let Redis refuse writes", () => this.#setReadOnly(true)],
      [3, "let Redis take writes", () => this.#setReadOnly(false)],
      [8, "wait", () => delay(this.#random() * 300)],
      [4, "wait for longer than a lease", () => delay(longMs)],
    ];
    let at = this.#random() * actions.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, name, act] of actions) {
      at -= weight;
      if (at >= 0) continue;
      this.#note(name);
      await act();
      break;
    }
    // What has come meanwhile is looked at, so that a failure is near its cause.
    await delay(this.#random() * 30);
    this.#check();
    if (!this.#isRedisDead && !this.#isRedisPaused) await this.#redisHistory.look();
  }

  /**
   * All faults end, and every FeatureFlag is edited once more. Fails unless every agent gets that, has seen nothing out of order, and replicas
   * share their watches in the end, and do what they are for.
   */
  async judge(): Promise<void> {
    this.#note("mend all");
    this.#pauseRedis(false);
    await this.#startRedis();
    await this.#setReadOnly(false);
    for (const replica of this.#replicas) await this.#mend(replica);
    for (const agent of this.#agents) agent.way.blackhole(false);
    for (const topic of topics) this.#edit(topic);
    await this.#haveLast();
    await judgeQuiet({
      topics,
      api: this.#api,
      replicas: this.#replicas,
      agents: this.#agents,
      healMs,
      note: (what) => this.#note(what),
      edit: (topic) => this.#edit(topic),
      delete: (topic) => this.#delete(topic),
      restore: () => this.#restore(),
      killRedis: () => this.#killRedis(),
      redisHistory: this.#redisHistory,
      haveLast: () => this.#haveLast(patienceMs),
    });
    this.#check();
  }

  /** What was done, and what replicas logged meanwhile. */
  get story(): string {
    const logged = this.#replicas.flatMap(({ name, proxy }) =>
      proxy.logs
        .filter(({ msg }) => msg !== "a version has reached all its subscribers")
        .map((line) => `${String(line["ts"])} ${name}: ${JSON.stringify(line)}`),
    );
    const agents = this.#agents.map(
      ({ topic, seen, way }) =>
        `${topic} at ${this.#replicas.find(({ proxy }) => proxy.port === way.target)?.name}: ${seen.join(" ")}`,
    );
    return [...[...this.#log, ...logged].sort(), ...agents].join("\n");
  }

  async close(): Promise<void> {
    this.#pauseRedis(false);
    for (const replica of this.#replicas) await this.#mend(replica);
    await Promise.all(this.#agents.map((agent) => agent.stop()));
    await Promise.all([...this.#replicas.map((replica) => replica.stop()), ...this.#leaving]);
    await this.#api.close();
    await this.#redis.stop();
  }

  async #haveLast(withinMs = healMs): Promise<void> {
    for (const { topic, seen } of this.#agents) {
      const last = this.#historyOf(topic).at(-1);
      await eventually(() => seen.at(-1) === last, `${last} of ${topic}`, withinMs).catch(
        (error: unknown) => {
          throw new Error(`${(error as Error).message}, but ${seen.slice(-5).join(" ")}`);
        },
      );
    }
  }

  #note(what: string): void {
    this.#log.push(`${new Date().toISOString()} ${what}`);
  }

  #check(): void {
    for (const { topic, ordered } of this.#agents) expectSubsequence(ordered, this.#historyOf(topic));
  }

  #edit(topic: string): void {
    this.#version++;
    const [namespace = "", name = ""] = topic.split("/");
    this.#api.put(namespace, name, flagsOf(this.#version));
    this.#historyOf(topic).push(String(this.#version));
  }

  async #burst(topic: string): Promise<void> {
    for (let edit = 0; edit < 5; edit++) {
      this.#edit(topic);
      await delay(this.#random() * 3);
    }
  }

  #delete(topic: string): void {
    const [namespace = "", name = ""] = topic.split("/");
    if (this.#api.delete(namespace, name) !== undefined) this.#historyOf(topic).push(empty);
  }

  #move(agent: ModelAgent): void {
    agent.moveTo(this.#pick(this.#replicas).proxy.port);
  }

  /** A replica goes away, its agents go to others, and a new one starts. */
  async #replace(end: (replica: ModelReplica) => Promise<void>): Promise<void> {
    const old = this.#pick(this.#replicas);
    this.#replicas = this.#replicas.filter((replica) => replica !== old);
    await this.#startReplica();
    this.#leaving.push(end(old));
    for (const agent of this.#agents) if (agent.way.target === old.proxy.port) this.#move(agent);
  }

  async #startReplica(): Promise<void> {
    this.#replicas.push(await ModelReplica.start(`replica-${++this.#started}`, this.#api, this.#redis.port));
  }

  async #refuse(way: ModelReplica["toApi"]): Promise<void> {
    await way.refuse(true);
    way.cut();
  }

  /** Connections that were open stay as if they were, for ever. */
  #lose(way: ModelReplica["toApi"]): void {
    way.blackhole(true);
  }

  async #mend({ toApi, toRedis }: ModelReplica): Promise<void> {
    for (const way of [toApi, toRedis]) {
      way.slow(undefined);
      way.blackhole(false);
      await way.refuse(false);
    }
  }

  /**
   * What was edited since a moment ago is gone. Only while everybody is there to notice: a watch that is resumed when there are as many
   * versions again as before misses it, as all clients of Kubernetes do; and an agent can't tell a replica that what it holds, although its
   * resourceVersion is lower, is newer than what a replica knows that has not noticed.
   */
  async #restore(): Promise<void> {
    for (const replica of this.#replicas) await this.#mend(replica);
    for (const agent of this.#agents) agent.way.blackhole(false);
    // A replica that started after a deletion leaves its agents what they hold: they would not all come to the same.
    for (const topic of topics) if (this.#historyOf(topic).at(-1) === empty) this.#edit(topic);
    const before = new Map(topics.map((topic) => [topic, this.#historyOf(topic).at(-1)]));
    const backup = this.#api.backup();
    const lost = this.#pick(topics);
    await this.#burst(lost);
    await delay(this.#random() * 100);
    this.#api.restoreEtcd(backup);
    const again = before.get(lost);
    if (again !== undefined) this.#historyOf(lost).push(again);
    await delay(longMs);
    await this.#haveLast();
  }

  async #killRedis(): Promise<void> {
    if (this.#isRedisDead) return;
    this.#isRedisDead = true;
    this.#isRedisPaused = false;
    await this.#redis.kill();
    this.#redisHistory.emptied();
  }

  async #flushRedis(): Promise<void> {
    await this.#onRedis("FLUSHALL");
    if (!this.#isRedisPaused) this.#redisHistory.emptied();
  }

  async #startRedis(): Promise<void> {
    if (!this.#isRedisDead) return;
    await this.#redis.restart();
    this.#isRedisDead = false;
    this.#isReadOnly = false;
  }

  #pauseRedis(isPaused: boolean): void {
    if (this.#isRedisDead || this.#isRedisPaused === isPaused) return;
    this.#isRedisPaused = isPaused;
    if (isPaused) this.#redis.pause();
    else this.#redis.resume();
  }

  /** As after a failover that made another one the master. */
  async #setReadOnly(isReadOnly: boolean): Promise<void> {
    if (this.#isRedisDead || this.#isRedisPaused) return;
    this.#isReadOnly = isReadOnly;
    await this.#onRedis("REPLICAOF", ...(isReadOnly ? ["127.0.0.1", "1"] : ["NO", "ONE"]));
  }

  async #onRedis(command: string, ...args: readonly string[]): Promise<void> {
    if (!this.#isRedisDead && !this.#isRedisPaused) await this.#redis.command(command, ...args);
  }

  #historyOf(topic: string): string[] {
    return this.#history.get(topic) ?? [];
  }

  #pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.#random() * from.length)];
    if (picked === undefined) throw new Error("there is nothing to pick from");
    return picked;
  }
}
