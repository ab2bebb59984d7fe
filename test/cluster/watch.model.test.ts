import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "../support/event-queue.js";
import { expectSubsequence } from "../support/expect-subsequence.js";
import { faults, internalError, watchExpired, type OpenWatch } from "../support/faulty-api-server/index.js";
import { testSeed } from "../support/seed.js";
import { seededRandom } from "../support/seeded-random.js";
import { featureFlagPath, type Cluster } from "./support/cluster.js";
import { FaultyPath } from "./support/faulty-path.js";
import { inParallel } from "./support/in-parallel.js";
import { flagSpec, ProxyUnderTest, type FlagStream } from "./support/proxy-under-test.js";
import { sharedCluster } from "./support/use-cluster.js";

/*
 * Random writes, random faults between the proxy and a real API server, and subscribers that come and go in such numbers that watches
 * widen and narrow; then all faults end, and every subscriber must have what the API server has. The same seed (BUNTING_TEST_SEED) gives
 * the same steps, though not the same interleaving.
 */

const rounds = 6;
const stepsPerRound = 130;

/** The history of a FeatureFlag, version by version: the oracle of what its subscribers may see. */
interface Flag {
  readonly namespace: string;
  readonly name: string;
  readonly history: string[];
  exists: boolean;
}

interface Subscriber {
  readonly flag: Flag;
  readonly stream: FlagStream;
}

type Random = (below: number) => number;

function randomFrom(seed: number): Random {
  const random = seededRandom(seed);
  return (below) => Math.floor(random() * below);
}

class WatchModel {
  readonly ends: string[] = [];
  readonly #cluster: Cluster;
  readonly #path: FaultyPath;
  readonly #proxy: ProxyUnderTest;
  readonly #flags: readonly Flag[];
  readonly #random: Random;
  #subscribers: Subscriber[] = [];
  #version: number;
  #cutsLeft = 4;

  constructor(
    parts: { cluster: Cluster; path: FaultyPath; proxy: ProxyUnderTest; flags: readonly Flag[] },
    firstVersion: number,
    random: Random,
  ) {
    this.#cluster = parts.cluster;
    this.#path = parts.path;
    this.#proxy = parts.proxy;
    this.#flags = parts.flags;
    this.#version = firstVersion;
    this.#random = random;
  }

  async step(): Promise<void> {
    const what = this.#random(100);
    if (what < 55) await this.#write();
    else if (what < 70) this.#subscribe(this.#one(this.#flags));
    else if (what < 75) this.#crowd();
    else if (what < 80) this.#thin();
    else await this.#fault();
    await delay(this.#random(60));
  }

  /** Subscribes to so many of a namespace that one watch of it replaces theirs. */
  async widen(): Promise<void> {
    const namespace = this.#flags[0]?.namespace;
    for (const flag of this.#flags) if (flag.namespace === namespace) this.#subscribe(flag);
    const isWide = (): boolean => this.#path.http2.watches({ name: null }).length > 0;
    await eventually(isWide, "a watch of the namespace", 60_000);
  }

  /** Ends all faults and asserts that everybody gets to where the API server is, and goes on from there. */
  async settle(): Promise<void> {
    const { tcp, http2 } = this.#path;
    http2.clearFaults();
    for (const watch of http2.watches()) watch.release();
    for (const watch of http2.watches()) watch.drip(undefined);
    tcp.slow(undefined);
    tcp.blackhole(false);
    await tcp.refuse(false);
    await this.#converge();
    const existing = this.#flags.filter(({ exists }) => exists);
    await inParallel(existing, (flag) => this.#put(flag));
    await this.#converge();
    await delay(300);
    for (const { flag, stream } of this.#subscribers) {
      await drain(stream);
      const seen = stream.seen.map(String);
      expectSubsequence(seen, flag.history);
      expect(
        seen.some((one, at) => one === seen[at - 1]),
        `twice in ${seen.join(" ")}`,
      ).to.equal(false);
    }
    expect(this.ends).to.deep.equal([]);
  }

  get nextVersion(): number {
    return this.#version;
  }

  async #write(): Promise<void> {
    const flag = this.#one(this.#flags);
    const what = this.#random(10);
    if (!flag.exists || what < 5) await this.#put(flag);
    else if (what < 7) {
      const labels = { touched: String(this.#version++) };
      await this.#cluster.api.patch(featureFlagPath(flag.namespace, flag.name), { metadata: { labels } });
    } else {
      await this.#delete(flag);
      if (what === 9) await this.#put(flag);
    }
  }

  async #put(flag: Flag): Promise<void> {
    const version = this.#version++;
    flag.history.push(String(version));
    flag.exists = true;
    await this.#cluster.putFeatureFlag(flag.namespace, flag.name, flagSpec(version));
  }

  async #delete(flag: Flag): Promise<void> {
    flag.history.push("empty");
    flag.exists = false;
    await this.#cluster.deleteFeatureFlag(flag.namespace, flag.name);
  }

  #subscribe(flag: Flag): void {
    const stream = this.#proxy.subscribe(flag.namespace, flag.name);
    this.#subscribers.push({ flag, stream });
    void stream.subscription.ended.then(({ code, details }) => {
      if (code !== status.CANCELLED) this.ends.push(`${flag.name}: ${code} ${details}`);
    });
  }

  /** Everything in one namespace. */
  #crowd(): void {
    const { namespace } = this.#one(this.#flags);
    for (const flag of this.#flags) if (flag.namespace === namespace) this.#subscribe(flag);
  }

  /** Nearly nothing in one namespace. */
  #thin(): void {
    const { namespace } = this.#one(this.#flags);
    const stays = new Set([0, 1, 2, 3].map(() => this.#one(this.#flags)));
    this.#subscribers = this.#subscribers.filter(({ flag, stream }) => {
      if (flag.namespace !== namespace || stays.has(flag)) return true;
      stream.cancel();
      return false;
    });
  }

  async #fault(): Promise<void> {
    const { tcp, http2 } = this.#path;
    const watches = http2.watches();
    const some = (): OpenWatch[] => watches.filter(() => this.#random(3) === 0);
    switch (this.#random(12)) {
      case 0:
        // Each of these makes all watches wait longer before they open again.
        if (this.#cutsLeft-- <= 0) return;
        await tcp.refuse(this.#random(2) === 0);
        if (this.#random(2) === 0) tcp.cut();
        else tcp.fin();
        await this.#write();
        await tcp.refuse(false);
        return;
      case 1:
        tcp.blackhole(true);
        for (let count = this.#random(10); count >= 0; count--) await this.#write();
        tcp.blackhole(false);
        return;
      case 2:
        http2.goAway();
        return;
      case 3:
        for (const watch of some()) watch.end();
        return;
      case 4:
        for (const watch of some()) watch.error(watchExpired(1, 2));
        return;
      case 5:
        for (const watch of some()) watch.error(internalError("etcdserver: no leader"));
        return;
      case 6:
        for (const { exchange } of some()) exchange.cutAfter(this.#random(900), "end");
        return;
      case 7:
        for (const { exchange } of some()) exchange.cutAfter(this.#random(900), "reset");
        return;
      case 8:
        for (const watch of some()) watch.hold();
        return;
      case 9:
        for (const watch of watches) watch.release();
        return;
      case 10: {
        const held = this.#random(2) === 0 ? { name: null } : {};
        http2.onWatch({ kind: "watch", ...held }, (watch) => watch.hold(), 1 + this.#random(5));
        return;
      }
      default: {
        const answer = this.#random(2) === 0 ? faults.answer(503, "no upstream") : faults.reset();
        http2.fault({ kind: "watch" }, answer, 1 + this.#random(5));
      }
    }
  }

  async #converge(): Promise<void> {
    const truth = new Map<string, string>();
    for (const namespace of new Set(this.#flags.map((flag) => flag.namespace))) {
      for (const { metadata, ...rest } of (await this.#cluster.listFeatureFlags(namespace)).items) {
        const { spec } = rest as {
          spec?: { flagSpec?: { flags: { version: { variants: { v: number } } } } };
        };
        truth.set(`${namespace}/${metadata.name}`, String(spec?.flagSpec?.flags.version.variants.v));
      }
    }
    const wrong = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const { flag, stream } of this.#subscribers) {
        await drain(stream);
        const last = stream.seen.at(-1);
        const is = truth.get(`${flag.namespace}/${flag.name}`);
        // A subscriber that came when it was gone receives nothing, or that it is gone.
        const isRight = is === undefined ? last === undefined || last === "empty" : String(last) === is;
        if (!isRight) {
          const what = `${flag.namespace}/${flag.name} is ${is ?? "gone"}`;
          found.push(`${what}, a subscriber saw ${stream.seen.join(" ")} of ${flag.history.join(" ")}`);
        }
      }
      return found;
    };
    await eventually(async () => (await wrong()).length === 0, "all are up to date", 60_000).catch(
      async (error: unknown) => {
        throw new Error(`${(error as Error).message}:\n${(await wrong()).join("\n")}`);
      },
    );
  }

  #one<T>(of: readonly T[]): T {
    return of[this.#random(of.length)] as T;
  }
}

async function drain(stream: FlagStream): Promise<void> {
  while (stream.subscription.messages.size > 0) await stream.next();
}

describe("the proxy's watches, whatever happens in whatever order", function () {
  this.timeout(300_000);
  const cluster = sharedCluster();

  it("bring every subscriber to the newest version, by existing versions, in order", async () => {
    const random = randomFrom(testSeed);
    const flags: Flag[] = [];
    for (const count of [36, 34, 6]) {
      const namespace = await cluster().createNamespace();
      for (let index = 0; index < count; index++)
        flags.push({ namespace, name: `flag-${index}`, history: [], exists: false });
    }
    const account = await cluster().createServiceAccountToken(flags[0]?.namespace ?? "", "proxy");
    await cluster().grantStockRole(account);
    let version = 1;
    await inParallel(flags, async (flag) => {
      flag.history.push(String(version));
      flag.exists = true;
      await cluster().putFeatureFlag(flag.namespace, flag.name, flagSpec(version++));
    });
    for (let round = 1; round <= rounds; round++) {
      const path = await FaultyPath.start(cluster());
      const life = ["--deletion-grace", "0s", "--deletion-policy", "empty", "--topic-linger", "200ms"];
      const proxy = await ProxyUnderTest.start(path.pod(account), life);
      const model = new WatchModel({ cluster: cluster(), path, proxy, flags }, version, random);
      try {
        // Narrowing, too, is among what happens in the first round, however slow the machine is.
        if (round === 1) await model.widen();
        for (let step = 0; step < stepsPerRound; step++) await model.step();
        await model.settle();
      } catch (error) {
        const log = proxy.process.logs.filter(({ level }) => level !== "info");
        throw new Error(`seed ${testSeed}, round ${round}: ${(error as Error).message}`, {
          cause: { error, log },
        });
      } finally {
        version = model.nextVersion;
        await proxy.stop();
        await path.close();
      }
    }
  });
});
