import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "../../support/event-queue.js";
import { expectSubsequence } from "../../support/expect-subsequence.js";
import { FaultProxy } from "../../support/fault-proxy.js";
import { FaultyApiServer } from "../../support/faulty-api-server/index.js";
import { StockSyncClient, type SyncSubscription } from "../../support/stock-sync-client.js";
import { TempDirectory } from "../../support/temp-directory.js";
import type { Command } from "./command.js";
import { LocalProxy } from "../../support/local-proxy.js";

const names = ["a", "b"];
const [namespace, empty] = ["demo", "{}"];
/** So that deltas are smaller than snapshots. */
const ballast = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`other-${i}`, flag(0)]));
const deletion = ["--deletion-grace=10ms", "--deletion-policy=empty"];

/** What an edit takes at most times; on a slow machine the model tries less. */
const propagationMs = 30;

/** A proxy of the second level, with what can fail on both sides of it. */
interface Middle {
  readonly up: FaultProxy;
  readonly down: FaultProxy;
  proxy: LocalProxy | undefined;
}

interface Reader {
  readonly leaf: string;
  readonly name: string;
  readonly subscription: SyncSubscription;
  readonly seen: string[];
}

/** Three levels: a root on a cluster, two middles, and two leaves that go from one middle to the other. Every leaf has readers of all topics. */
export class TiersModel {
  readonly #api: FaultyApiServer;
  readonly #directory = new TempDirectory();
  readonly #history = new Map<string, string[]>(names.map((name) => [name, []]));
  readonly #readers: Reader[] = [];
  readonly #proxies: LocalProxy[] = [];
  readonly #middles: Middle[] = [];
  readonly #clients: StockSyncClient[] = [];
  #version = 0;

  private constructor(api: FaultyApiServer) {
    this.#api = api;
  }

  static async start(): Promise<TiersModel> {
    const model = new TiersModel(await FaultyApiServer.start());
    names.forEach((_, index) => model.#edit(index));
    const root = await model.#start([
      "--source=kubernetes",
      "--kubeconfig",
      model.#kubeconfig(),
      ...deletion,
    ]);
    for (let i = 0; i < 2; i++) {
      const middle: Middle = {
        up: await FaultProxy.start(root.port),
        down: await FaultProxy.start(1),
        proxy: undefined,
      };
      model.#middles.push(middle);
      await model.#revive(middle);
    }
    const upstreams = model.#middles.map(({ down }) => `127.0.0.1:${down.port}`).join();
    for (const leaf of ["leaf 1", "leaf 2"]) {
      const { port } = await model.#start([`--source=upstream:${upstreams}`]);
      for (const name of names) model.#read(leaf, port, name);
    }
    return model;
  }

  async run(one: Command): Promise<void> {
    switch (one.kind) {
      case "edit":
        this.#edit(one.topic);
        break;
      case "delete":
        this.#delete(one.topic);
        break;
      case "kill":
        await this.#kill(this.#middle(one.middle));
        break;
      case "revive":
        await this.#revive(this.#middle(one.middle));
        break;
      case "overtake":
        await this.#overtake(one.middle, one.topic);
        break;
      case "turn":
        await delay(one.ms);
        break;
      case "cut":
        this.#link(one.link).cut();
        break;
      default:
        this.#link(one.link).blackhole(one.kind === "stall");
    }
  }

  /**
   * From here on all is well with one middle, the other stays away, and every FeatureFlag is edited once more. Fails unless every reader gets
   * that, and has seen nothing out of order.
   */
  async judge(survivor: number): Promise<void> {
    await this.#kill(this.#middle(1 - survivor));
    const middle = this.#middle(survivor);
    await this.#revive(middle);
    for (const link of [middle.up, middle.down]) link.blackhole(false);
    names.forEach((_, index) => this.#edit(index));
    const last = String(this.#version);
    const isAtLast = ({ name, seen }: Reader): boolean => seen.at(-1) === this.#historyOf(name).at(-1);
    const describe = (): string =>
      this.#readers.map(({ name, leaf, seen }) => `${name} at ${leaf}: ${seen.join(" ")}`).join("; ");
    const haveLast = async (): Promise<boolean> => {
      await this.#look();
      return this.#readers.every(isAtLast);
    };
    await eventually(haveLast, `version ${last} everywhere`).catch((cause: unknown) => {
      throw new Error(`${(cause as Error).message}: ${describe()}`, { cause });
    });
    for (const { name, seen } of this.#readers) expectSubsequence(seen, this.#historyOf(name));
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    for (const { up, down } of this.#middles) await Promise.all([up.close(), down.close()]);
    const middles = this.#middles.flatMap(({ proxy }) => proxy ?? []);
    await Promise.all([...this.#proxies, ...middles].map((proxy) => proxy.stop()));
    await this.#api.close();
    this.#directory.remove();
  }

  #edit(topic: number): void {
    const name = names[topic] ?? "";
    const version = String(++this.#version);
    const flags = { ...ballast, version: flag(this.#version) };
    this.#api.put(namespace, name, { flagSpec: { flags } });
    this.#historyOf(name).push(version);
  }

  #delete(topic: number): void {
    const name = names[topic] ?? "";
    if (this.#api.delete(namespace, name) !== undefined) this.#historyOf(name).push(empty);
  }

  async #overtake(middle: number, topic: number): Promise<void> {
    this.#middle(middle).up.blackhole(true);
    this.#edit(topic);
    await delay(propagationMs);
    this.#middle(1 - middle).down.cut();
    await delay(propagationMs);
  }

  /** Its neighbours see a process that is killed. */
  async #kill(middle: Middle): Promise<void> {
    const { proxy, up, down } = middle;
    if (proxy === undefined) return;
    middle.proxy = undefined;
    await down.refuse(true);
    down.cut();
    up.cut();
    await proxy.stop();
  }

  async #revive(middle: Middle): Promise<void> {
    if (middle.proxy !== undefined) return;
    middle.proxy = await LocalProxy.start([`--source=upstream:127.0.0.1:${middle.up.port}`]);
    middle.down.setTarget(middle.proxy.port);
    await middle.down.refuse(false);
  }

  async #start(args: readonly string[]): Promise<LocalProxy> {
    const proxy = await LocalProxy.start(args);
    this.#proxies.push(proxy);
    return proxy;
  }

  #read(leaf: string, port: number, name: string): void {
    const client = new StockSyncClient(`127.0.0.1:${port}`);
    this.#clients.push(client);
    const subscription = client.subscribe({ selector: `${namespace}/${name}` });
    this.#readers.push({ name, leaf, subscription, seen: [] });
  }

  /** Takes what has arrived. */
  async #look(): Promise<void> {
    for (const { subscription, seen } of this.#readers)
      while (subscription.messages.size > 0) {
        const { flags } = await subscription.messages.nextEvent();
        const { version } = flags as Record<
          string,
          { readonly variants?: { readonly now: number } } | undefined
        >;
        seen.push(version === undefined ? empty : String(version.variants?.now));
      }
  }

  #kubeconfig(): string {
    const user = { name: "test", user: { token: "any" } };
    const cluster = { server: this.#api.url, "certificate-authority": this.#api.caFile };
    this.#directory.replace(
      "kubeconfig",
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "test",
        contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
        clusters: [{ name: "test", cluster }],
        users: [user],
      }),
    );
    return this.#directory.file("kubeconfig");
  }

  #historyOf(name: string): string[] {
    return this.#history.get(name) ?? [];
  }

  #middle(index: number): Middle {
    const middle = this.#middles[index];
    if (middle === undefined) throw new Error("there are two middles");
    return middle;
  }

  #link(index: number): FaultProxy {
    const { up, down } = this.#middle(index % 2);
    return index < 2 ? up : down;
  }
}

function flag(now: number): object {
  return { state: "ENABLED", variants: { now }, defaultVariant: "now" };
}
