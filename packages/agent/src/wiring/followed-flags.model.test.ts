import { Evaluator, type Flag } from "@bunting/evaluation";
import type { SourceFlagsMessage } from "@bunting/sync-client/messages";
import { createLogger, createRegistry, readOptions } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { scaled } from "@bunting/test/support/scale.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { expect } from "chai";
import { agentPrometheusMetrics } from "../management/prometheus-metrics.js";
import { agentOptionTable } from "../options.js";
import { OnDemandSource } from "../sync/on-demand-source.js";
import type { SourceConfig } from "../sync/source-config.js";
import type { SyncSourceOptions } from "../sync/sync-source.js";
import * as agentParts from "./agent-parts.js";
import { followedFlags, type FollowedFlags } from "./followed-flags.js";
import { sourceConfigsOf, sourceSignals } from "./stored-flags.js";

const pool = Array.from({ length: 30 }, (_, index) => `shop/f${index}`);
const keys = Array.from({ length: 12 }, (_, index) => `k${index}`);

/** Of a FeatureFlag: which flags it has, and which edit it is. */
interface Document {
  readonly edit: number;
  readonly keys: readonly string[];
}

/** A stream that an agent has, as a proxy sees it. */
class PlayedSource {
  readonly source: OnDemandSource<SourceConfig>;
  readonly topic: string;
  readonly options: SyncSourceOptions;
  isRunning = false;
  /** What the proxy has not sent yet. */
  isDue = true;
  readonly #config: SourceConfig;

  constructor(config: SourceConfig, options: SyncSourceOptions) {
    this.#config = config;
    this.options = options;
    this.topic = config.selector.replace("core.openfeature.dev/", "");
    this.source = new OnDemandSource(config, options, ({ state }, signal) => {
      state.connected();
      this.isRunning = true;
      // A stream begins with what there is.
      this.isDue = true;
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          this.isRunning = false;
          resolve();
        });
      });
    });
  }

  send(document: Document | undefined): void {
    this.isDue = false;
    const { sourceIndex } = this.#config;
    const { receiver } = this.options;
    if (document === undefined) receiver.answered(sourceIndex);
    else receiver.deliver({ sourceIndex, bytes: bytesOf(this.topic, document) });
  }

  /** The proxy tells a list, if this stream has asked for it. */
  tell(list: SourceFlagsMessage): boolean {
    const { sourceList } = this.options;
    if (sourceList?.asking !== this.#config.sourceIndex) return false;
    sourceList.received(list);
    return true;
  }
}

function bytesOf(topic: string, document: Document): Buffer {
  const flag = { state: "ENABLED", variants: { on: `${topic} ${document.edit}` }, defaultVariant: "on" };
  return Buffer.from(JSON.stringify({ flags: Object.fromEntries(document.keys.map((key) => [key, flag])) }));
}

/** What happens to an agent: lists, edits and deletions in any order, and streams that are slower than others. */
class Model {
  readonly #random: () => number;
  readonly #clock = new ManualClock();
  readonly #documents = new Map<string, Document>();
  readonly #sources: PlayedSource[] = [];
  readonly #stopping = new AbortController();
  /** What an evaluator makes of the changes that it is told. */
  readonly #told = new Map<string, Flag>();
  /** By topic: the newest edit that an application has seen of flags that no other topic has. */
  readonly #seen = new Map<string, number>();
  #agent: FollowedFlags | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #edits = 0;
  /** The newest list that can be followed. */
  #list: readonly string[];
  longestChange = 0;
  changes = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#list = pool.slice(0, 3);
    for (const topic of pool.slice(0, 20)) this.#edit(topic);
  }

  async start(): Promise<void> {
    const sources = this.#list.map((topic) => ({
      ...{ uri: "proxy:8015", provider: "grpc", selector: `core.openfeature.dev/${topic}` },
    }));
    const { options } = await readOptions(agentOptionTable, {
      argv: ["--sources", JSON.stringify(sources), "--source-list", "shop/app@f1:0:0", "--start-wait", "5s"],
      env: {},
    });
    const clock = this.#clock;
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const context = { clock, logger, metrics: agentPrometheusMetrics(createRegistry(false)) };
    const createSources: typeof agentParts.createSources = (configs, of) =>
      configs.map((config) => {
        const source = new PlayedSource(config, of);
        this.#sources.push(source);
        return source.source;
      });
    const wiring = { options, parts: { ...agentParts, createSources }, context };
    const evaluator = new Evaluator({ clock });
    const signals = sourceSignals(clock);
    const configured = sourceConfigsOf(wiring);
    const agent = (this.#agent = followedFlags(wiring, { configured, evaluator, signals }));
    agent.flags.onChange(({ upserted, removed }) => {
      for (const { key } of removed) this.#told.delete(key);
      for (const flag of upserted) this.#told.set(flag.key, flag);
    });
    const failed = (error: unknown): void => expect.fail(String(error));
    for (const component of agent.flags.components()) await component.start(failed, this.#stopping.signal);
    this.#running = agent.follower?.run(this.#stopping.signal) ?? Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    for (const component of this.#agent?.flags.components() ?? []) await component.stop();
  }

  async step(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.2) this.#edit(this.#one(pool));
    else if (dice < 0.25) this.#delete(this.#one(pool));
    else if (dice < 0.4) this.#tellList();
    else if (dice < 0.45) this.#tellForeign();
    else if (dice < 0.85) this.#send();
    else this.#clock.advance(Math.floor(this.#random() * 1_500));
    await settled();
    this.#check();
  }

  /** All is said, and the agent has had the time that it takes. */
  async settle(): Promise<void> {
    this.#tell({ kind: "source_flags", topics: this.#list, frame: "f1" });
    for (let round = 0; round < 6; round++) {
      await settled();
      for (const source of this.#open()) if (source.isDue) source.send(this.#documents.get(source.topic));
      await settled();
      this.#clock.advance(1_500);
    }
    await settled();
    this.#check();
    expect(this.#topics(), "the last list").to.deep.equal(this.#list);
    const running = this.#open().map(({ topic }) => topic);
    expect(running, "one stream each, and no other").to.have.members([...this.#list]);
    expect(this.#served()).to.deep.equal(this.#oracle());
  }

  /** What the last list and the newest documents say; of what was deleted, agents keep what they have, so these are left out. */
  #oracle(): Record<string, string> {
    const merged: Record<string, string> = {};
    for (const topic of this.#list) {
      const document = this.#documents.get(topic);
      for (const key of document?.keys ?? []) merged[key] = `${topic} ${document?.edit ?? 0}`;
    }
    return sorted(merged);
  }

  #served(): Record<string, string> {
    const flags = this.#agent?.flags.flags() ?? [];
    return sorted(Object.fromEntries(flags.map((flag) => [flag.key, valueOf(flag)])));
  }

  #check(): void {
    const served = this.#served();
    const told = sorted(Object.fromEntries([...this.#told].map(([key, flag]) => [key, valueOf(flag)])));
    expect(told, "an evaluator has what is served").to.deep.equal(served);
    const topics = this.#topics();
    for (const value of Object.values(served)) {
      const [topic = "", edit = ""] = value.split(" ");
      expect(topics, "a flag is of the list that is served").to.include(topic);
      expect(Number(edit), `${topic} is not taken back`).to.be.at.least(this.#seen.get(topic) ?? 0);
      this.#seen.set(topic, Number(edit));
    }
    for (const topic of this.#seen.keys()) if (!topics.includes(topic)) this.#seen.delete(topic);
  }

  #topics(): readonly string[] {
    const configs = this.#agent?.flags.configs ?? [];
    return configs.map(({ selector }) => selector.replace("core.openfeature.dev/", ""));
  }

  #edit(topic: string): void {
    const own = keys.filter(() => this.#random() < 0.4);
    // A document that is as before is no edit.
    this.#documents.set(topic, { edit: ++this.#edits, keys: own.length === 0 ? ["k0"] : own });
    for (const source of this.#sources) if (source.topic === topic) source.isDue = true;
  }

  /** Only what nobody has: what agents keep of it depends on when they came. */
  #delete(topic: string): void {
    if (this.#open().some((source) => source.topic === topic)) return;
    this.#documents.delete(topic);
  }

  #tellList(): void {
    const count = 1 + Math.floor(this.#random() * 24);
    const topics = pool
      .map((topic) => ({ topic, place: this.#random() }))
      .sort((one, other) => one.place - other.place)
      .slice(0, count)
      .map(({ topic }) => topic);
    if (!this.#tell({ kind: "source_flags", topics, frame: "f1" })) return;
    const added = topics.filter((topic) => !this.#list.includes(topic)).length;
    this.longestChange = Math.max(this.longestChange, added);
    this.changes++;
    this.#list = topics;
  }

  /** Lists that are not for this agent, or for none. */
  #tellForeign(): void {
    const lists = [
      { topics: ["shop/f1"], frame: "f2" },
      { topics: [], frame: "f1" },
      { topics: ["no topic"], frame: "f1" },
      { topics: Array.from({ length: 129 }, (_, index) => `shop/g${index}`), frame: "f1" },
    ];
    this.#tell({ kind: "source_flags", ...this.#one(lists) });
  }

  #tell(list: SourceFlagsMessage): boolean {
    return this.#open().some((source) => source.tell(list));
  }

  #send(): void {
    const due = this.#open().filter(({ isDue }) => isDue);
    if (due.length === 0) return;
    const { topic } = this.#one(due);
    // Both streams of an agent that changes its sources are sent an edit, one of them first.
    const [first, ...others] = due.filter((source) => source.topic === topic);
    first?.send(this.#documents.get(topic));
    if (this.#random() < 0.5) for (const other of others) other.send(this.#documents.get(topic));
  }

  /** Streams that the agent has now. */
  #open(): PlayedSource[] {
    return this.#sources.filter(({ isRunning }) => isRunning);
  }

  #one<T>(some: readonly T[]): T {
    const one = some[Math.floor(this.#random() * some.length)];
    if (one === undefined) throw new Error("there is none");
    return one;
  }
}

function valueOf({ variants }: Flag): string {
  const value = variants.get("on");
  return typeof value === "string" ? value : "";
}

function sorted(record: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Turns of the event loop in which what is decided by promises is done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("an agent that follows lists, whatever comes between", function () {
  this.timeout(60_000);
  for (let seed = 1; seed <= scaled(12, 4); seed++)
    it(`serves what the last list says (seed ${seed})`, async () => {
      const model = new Model(seed);
      await model.start();
      try {
        for (let round = 0; round < 4; round++) {
          for (let step = 0; step < 120; step++) await model.step();
          await model.settle();
        }
      } finally {
        await model.stop();
      }
      expect(model.changes).to.be.greaterThan(20);
      expect(model.longestChange, "more at once than a stream has topics").to.be.greaterThan(16);
    });
});
