import type { FlagDocument, JsonObject, TopicKey } from "@bunting/protocol";
import type { DeletionPolicy } from "@bunting/proxy/internal/topic/tombstone.js";
import { setTimeout as delay } from "node:timers/promises";
import type { Command, SubscriberKind } from "./command.js";
import { FlagHistory } from "./flag-history.js";
import { RealAgent } from "./real-agent.js";
import { Replica } from "./replica.js";
import { ScriptedAgent } from "./scripted-agent.js";
import { StockSubscriber } from "./stock-subscriber.js";
import type { Subscriber } from "./subscriber.js";

const topics: readonly TopicKey[] = ["demo/a", "demo/b"];
const windowBytes: Readonly<Record<Exclude<SubscriberKind, "real agent" | "scripted agent">, number>> = {
  "16 KB": 16_384,
  "64 KB": 65_536,
  "1 MB": 1_048_576,
};
/** More than may be in flight to a stream with a small window that is not read. */
const ballastBytes = 200_000;
const maxSubscribers = 8;
const flagNames = Array.from({ length: 10 }, (_, index) => `k${index}`);

/** What the document of a topic is made of. */
interface Draft {
  readonly values: number[];
  isLarge: boolean;
}

/** Two proxies, the history of the FeatureFlags they serve, and their subscribers. */
export class FanOutModel {
  readonly #history: FlagHistory;
  readonly #replicas: readonly Replica[];
  readonly #drafts: readonly Draft[] = topics.map(() => ({ values: flagNames.map(() => 0), isLarge: false }));
  readonly #subscribers: Subscriber[] = [];
  #subscribed = 0;

  private constructor(history: FlagHistory, replicas: readonly Replica[]) {
    this.#history = history;
    this.#replicas = replicas;
  }

  static async start(deletionPolicy: DeletionPolicy): Promise<FanOutModel> {
    const history = new FlagHistory(topics, deletionPolicy === "empty" ? '{"flags":{}}' : undefined);
    const start = (): Promise<Replica> => Replica.start(history, deletionPolicy);
    return new FanOutModel(history, await Promise.all([start(), start()]));
  }

  async run(one: Command): Promise<void> {
    switch (one.kind) {
      case "subscribe":
        await this.#subscribe(one.as, one.proxy);
        break;
      case "edit": {
        const draft = this.#draft(one.topic);
        draft.values[one.flag] = one.value;
        draft.isLarge = one.isLarge ?? draft.isLarge;
        this.#put(one.topic);
        break;
      }
      case "delete":
        this.#history.of(topicAt(one.topic)).delete();
        break;
      case "lag":
      case "catch up": {
        const { source } = this.#replica(one.proxy);
        if (source !== undefined) source.isLagging = one.kind === "lag";
        break;
      }
      case "kill":
        await this.#kill(this.#replica(one.proxy));
        break;
      case "revive":
        await this.#replica(one.proxy).revive();
        break;
      case "turn":
        await delay(one.ms);
        break;
      case "read":
        this.#read();
        break;
      case "advance":
        for (const each of [...this.#replicas, ...this.#subscribers]) each.advance(one.ms);
        break;
      default:
        await this.#disturb(one);
    }
    for (const { source } of this.#replicas) source?.follow();
    for (const subscriber of this.#subscribers) await subscriber.look();
  }

  /** From here on all is well: all subscribers read and answer, all proxies run, and each topic gets one more edit. */
  async recover(): Promise<void> {
    for (const replica of this.#replicas) {
      await replica.revive();
      if (replica.source !== undefined) replica.source.isLagging = false;
    }
    for (const subscriber of this.#subscribers) subscriber.resume();
    topics.forEach((_, index) => {
      const draft = this.#draft(index);
      draft.values[3] = 9;
      this.#put(index);
    });
    for (const { source } of this.#replicas) source?.follow();
  }

  /** True once all subscribers have the last version. */
  async isSettled(): Promise<boolean> {
    this.#read();
    for (const [index, subscriber] of this.#subscribers.entries()) {
      await subscriber.look();
      if (subscriber.isLost) await subscriber.connect(this.#replica(index));
    }
    return this.#subscribers.every(({ isAtNewest }) => isAtNewest);
  }

  describe(): string {
    const behind = this.#subscribers.filter(({ isAtNewest }) => !isAtNewest);
    return behind.map((one) => one.describe()).join("; ");
  }

  /** All subscribers leave; fails if anything is left of them. */
  async judgeEnd(): Promise<void> {
    await this.#leave(this.#subscribers);
    for (const replica of this.#replicas) await replica.judgeEnd();
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#subscribers.splice(0).map((one) => one.leave()));
    for (const replica of this.#replicas) await replica.close();
  }

  async #subscribe(as: SubscriberKind, proxy: number): Promise<void> {
    if (this.#subscribers.length >= maxSubscribers) return;
    const topic = topicAt(this.#subscribed++);
    const subscriber = await this.#make(as, topic);
    this.#subscribers.push(subscriber);
    await subscriber.connect(this.#replica(proxy));
  }

  #make(as: SubscriberKind, topic: TopicKey): Subscriber | Promise<Subscriber> {
    if (as === "real agent") return RealAgent.start(topic, this.#history.of(topic));
    if (as === "scripted agent") return new ScriptedAgent(this.#history, windowBytes["64 KB"]);
    return new StockSubscriber(topic, this.#history.of(topic), windowBytes[as]);
  }

  async #disturb(one: Extract<Command, { readonly which: number }>): Promise<void> {
    const subscriber = this.#subscribers[one.which % Math.max(1, this.#subscribers.length)];
    if (subscriber === undefined) return;
    switch (one.kind) {
      case "move":
        await subscriber.connect(this.#replica(one.proxy));
        break;
      case "leave":
        await this.#leave([subscriber]);
        break;
      case "ack":
      case "refuse":
      case "defer":
        subscriber.answer(one.kind);
        break;
      case "answer late":
        subscriber.answerLate(one.answer);
        break;
      default:
        subscriber[one.kind]();
    }
  }

  async #leave(leaving: readonly Subscriber[]): Promise<void> {
    for (const one of [...leaving]) {
      this.#subscribers.splice(this.#subscribers.indexOf(one), 1);
      await one.leave();
    }
  }

  async #kill(replica: Replica): Promise<void> {
    for (const subscriber of this.#subscribers) subscriber.lose(replica);
    await replica.kill();
  }

  #read(): void {
    for (const { source } of this.#replicas) source?.read();
  }

  #put(index: number): void {
    this.#history.of(topicAt(index)).put(documentOf(this.#draft(index)));
  }

  #draft(index: number): Draft {
    return this.#drafts[index] ?? { values: [], isLarge: false };
  }

  #replica(index: number): Replica {
    const replica = this.#replicas[index % this.#replicas.length];
    if (replica === undefined) throw new Error("there are no proxies");
    return replica;
  }
}

function topicAt(index: number): TopicKey {
  return topics[index % topics.length] ?? "demo/a";
}

function documentOf({ values, isLarge }: Draft): FlagDocument {
  const flags: Record<string, JsonObject> = {};
  flagNames.forEach((name, index) => (flags[name] = flag(values[index] ?? 0)));
  if (isLarge) flags["ballast"] = flag("x".repeat(ballastBytes));
  return { flags };
}

function flag(value: number | string): JsonObject {
  return { state: "ENABLED", variants: { v: value }, defaultVariant: "v" };
}
