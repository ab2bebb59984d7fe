import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { checkOptions, type CheckedOptions } from "@bunting/backplane";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { modelSeeds } from "@bunting/test/support/seed.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { fast } from "../backplane/backplane.fixture.js";
import type { RecordingSink } from "../source.fixture.js";

import {
  documentOf,
  flagsOf,
  manyKeys,
  providerOf,
  RemoteCluster,
  RemoteReplica,
  ScriptedRemotes,
} from "./remote.fixture.js";

/*
 * Replicas that serve one FeatureFlag and its remote, while both sides are edited, the strategy and the address switched, the remote fails and empties, and
 * replicas stop and start, alone with copies on disk, and together with Redis. What a subscriber is told must be a merge of what each side has said,
 * and on each side never older than before; and when all faults are over, everyone must have the merge of what each side said last.
 *
 * BUNTING_MODEL_STEPS sets how many steps each takes.
 */

const strategies = ["merge", "override", "replace"] as const;
const uris = ["https://remote.test/a", "https://remote.test/b"] as const;
const own = ["both", "own"];
const far = ["both", "far", ...manyKeys(12)];
const steps = Number(process.env["BUNTING_MODEL_STEPS"] ?? 60);
const failure = { reason: "Status", message: "the remote answers 503" };

class RemoteModel {
  readonly #random: () => number;
  readonly #cluster = new RemoteCluster();
  readonly #remotes = new ScriptedRemotes(systemClock);
  readonly #backplane: CheckedOptions | undefined;
  readonly #directories: readonly TempDirectory[];
  readonly #replicas: { readonly replica: RemoteReplica; readonly sink: RecordingSink }[] = [];
  readonly #sinks: RecordingSink[] = [];
  readonly #versions = { local: 0, remote: 0 };
  #uri: (typeof uris)[number] = uris[0];
  #strategy: RemoteFlagProvider["strategy"] = "merge";
  readonly log: string[] = [];

  constructor(seed: number, directories: readonly TempDirectory[], backplane?: CheckedOptions) {
    this.#random = seededRandom(seed);
    this.#directories = directories;
    this.#backplane = backplane;
    for (const uri of uris) this.#remotes.says.set(uri, documentOf("remote", 0, far));
    this.#editLocal();
    for (const index of directories.keys()) this.#start(index);
  }

  async step(): Promise<void> {
    const actions: readonly (readonly [number, string, () => unknown])[] = [
      [8, "local", () => this.#editLocal()],
      [8, "remote", () => this.#editRemote()],
      [2, "strategy", () => this.#switch(() => (this.#strategy = this.#pick(strategies)))],
      [1, "address", () => this.#switch(() => (this.#uri = this.#pick(uris)))],
      [2, "fails", () => this.#remotes.says.set(this.#uri, failure)],
      [2, "empties", () => this.#remotes.says.set(this.#uri, { flags: {} })],
      [2, "restart", () => this.#restart(Math.floor(this.#random() * this.#replicas.length))],
      [5, "time", () => delay(this.#random() * 150)],
    ];
    const total = actions.reduce((sum, [weight]) => sum + weight, 0);
    let at = this.#random() * total;
    const [, name, act] = actions.find(([weight]) => (at -= weight) < 0) ?? [0, "nothing", () => undefined];
    this.log.push(name);
    await act();
  }

  /** Everything works, and both sides say one thing more: everyone has the merge of both. */
  async settled(): Promise<void> {
    this.#editRemote();
    this.#editLocal();
    const expected = this.#expected();
    const isThere = (sink: RecordingSink): boolean =>
      JSON.stringify(Object.entries(flagsOf(sink)).sort()) === expected;
    await eventually(
      () => this.#replicas.every(({ sink }) => isThere(sink)),
      `everyone has ${expected}`,
    ).catch((error: unknown) => {
      const have = this.#replicas.map(({ sink }) => JSON.stringify(flagsOf(sink))).join("\n");
      throw new Error(`${(error as Error).message}; they have\n${have}\nafter ${this.log.join(" ")}`);
    });
    for (const sink of this.#sinks) this.#check(sink);
  }

  async stop(): Promise<void> {
    for (const { replica } of this.#replicas) await replica.stop();
  }

  #expected(): string {
    const [local, remote] = [`local ${this.#versions.local}`, `remote ${this.#versions.remote}`];
    const flags = new Map(far.map((key) => [key, remote]));
    if (this.#strategy !== "replace") flags.set("own", local);
    if (this.#strategy === "merge") flags.set("both", local);
    return JSON.stringify([...flags].sort());
  }

  /** Nothing is told of a side that is older than what was told of it before. */
  #check(sink: RecordingSink): void {
    const last = { local: 0, remote: 0 };
    for (const event of sink.events) {
      if (event.kind !== "document") continue;
      const { flags } = JSON.parse(event.text) as { flags: Record<string, { state: string }> };
      const told = new Map<string, Set<number>>();
      for (const { state } of Object.values(flags)) {
        const [side = "", version = ""] = state.split(" ");
        told.set(side, (told.get(side) ?? new Set()).add(Number(version)));
      }
      for (const side of ["local", "remote"] as const) {
        const versions = [...(told.get(side) ?? [])];
        expect(versions.length, "versions of a side in one document").to.be.at.most(1);
        const [version = last[side]] = versions;
        expect(version, `${side} after ${this.log.join(" ")}`).to.be.at.least(last[side]);
        last[side] = version;
      }
    }
  }

  #editLocal(): void {
    const local = documentOf("local", ++this.#versions.local, own);
    this.#cluster.publish(local, providerOf({ uri: this.#uri, strategy: this.#strategy, intervalMs: 50 }));
  }

  #editRemote(): void {
    const remote = documentOf("remote", ++this.#versions.remote, far);
    for (const uri of uris) this.#remotes.says.set(uri, remote);
  }

  #switch(change: () => void): void {
    change();
    this.#editLocal();
  }

  #start(index: number): void {
    const directory = this.#directories[index];
    const replica = new RemoteReplica({
      clock: systemClock,
      cluster: this.#cluster,
      remotes: this.#remotes,
      ...(directory === undefined ? {} : { cacheDir: directory.path }),
      ...(this.#backplane === undefined ? {} : { backplane: this.#backplane }),
    });
    const sink = replica.watch();
    this.#sinks.push(sink);
    this.#replicas[index] = { replica, sink };
  }

  async #restart(index: number): Promise<void> {
    await this.#replicas[index]?.replica.stop();
    this.#start(index);
  }

  #pick<T>(from: readonly [T, ...T[]]): T {
    return from[Math.floor(this.#random() * from.length)] ?? from[0];
  }
}

describe("model of RemoteSource", () => {
  let directories: TempDirectory[] = [];
  afterEach(() => {
    for (const directory of directories.splice(0)) directory.remove();
  });

  async function walk(seed: number, backplane?: CheckedOptions): Promise<void> {
    directories = Array.from({ length: backplane === undefined ? 1 : 3 }, () => new TempDirectory());
    const model = new RemoteModel(seed, directories, backplane);
    try {
      for (let round = 0; round < 4; round++) {
        for (let step = 0; step < steps / 4; step++) await model.step();
        await model.settled();
      }
    } finally {
      await model.stop();
    }
  }

  for (const seed of modelSeeds(3)) {
    it(`one replica, seed ${seed}`, () => walk(seed));

    it(`three replicas with Redis, seed ${seed}`, async function () {
      needsRedisServer(this);
      const redis = await RedisServer.start();
      try {
        await walk(seed, checkOptions({ address: redis.address, ...fast }));
      } finally {
        await redis.stop();
      }
    });
  }
});
