import { buntingSyncV1, type TopicKey } from "@bunting/protocol";
import {
  AgentConnection,
  type AgentClientStream,
  type NumberedResponse,
} from "../../support/agent-client.js";
import { HeldFlags } from "../../support/held-flags.js";
import type { FlagHistory, HistoryEntry } from "./flag-history.js";
import type { Replica } from "./replica.js";
import type { Subscriber } from "./subscriber.js";

type Versioned = Extract<NumberedResponse, { $case: "unchanged" | "delta" | "snapshot" }>;
type SendAnswer = () => void;

/** How many answers are kept to be sent again. */
const maxSentAnswers = 8;

/** What the agent has of one topic. */
interface Topic {
  held: { readonly flags: HeldFlags; readonly entry: HistoryEntry } | undefined;
  /** No older version may come: than what it holds on any connection, than what it has only seen on the same connection. */
  floor: number;
  /** Digests it has refused on this connection: it refuses them each time. */
  readonly refused: Set<string>;
}

/** An agent of bunting.sync.v1 with all topics on one stream, which answers when and how the test says. */
export class ScriptedAgent implements Subscriber {
  readonly #history: FlagHistory;
  readonly #windowBytes: number;
  readonly #topics: ReadonlyMap<string, Topic>;
  /** Messages received and not handled, in order, including those that the proxy has given up waiting for. */
  readonly #unanswered: (Versioned | Extract<NumberedResponse, { $case: "deleted" }>)[] = [];
  /** Answers to messages that were applied or refused, not sent yet. */
  readonly #deferred: SendAnswer[] = [];
  readonly #sent: SendAnswer[] = [];
  #open: { connection: AgentConnection; stream: AgentClientStream; replica: Replica } | undefined;
  #isHushed = false;
  /** The test has said to refuse the next message. */
  #refusesNext = false;

  constructor(history: FlagHistory, windowBytes: number) {
    this.#history = history;
    this.#windowBytes = windowBytes;
    const none = { held: undefined, floor: -1 };
    this.#topics = new Map([...history.topics.keys()].map((key) => [key, { ...none, refused: new Set() }]));
  }

  async connect(replica: Replica): Promise<void> {
    this.#disconnect();
    if (!replica.isUp) return;
    const connection = await AgentConnection.open(replica.port, this.#windowBytes);
    const stream = connection.stream();
    this.#open = { connection, stream, replica };
    for (const [key, topic] of this.#topics) {
      const { held } = topic;
      topic.floor = held?.entry.index ?? -1;
      topic.refused.clear();
      if (held === undefined) stream.subscribe(key);
      else {
        const { generation, ...version } = held.entry.version;
        const digest = Buffer.from(held.flags.digest, "hex");
        stream.subscribe(key, { ...version, generation: String(generation), digest });
      }
    }
  }

  async look(): Promise<void> {
    const messages = this.#open?.stream.messages;
    while (messages !== undefined && messages.size > 0) this.#take(await messages.nextEvent());
    while (!this.#isHushed && this.#unanswered.length > 0) {
      const how = this.#refusesNext ? "refuse" : "ack";
      this.#refusesNext = false;
      this.answer(how);
    }
  }

  stall(): void {
    this.#open?.stream.pause();
  }

  resume(): void {
    this.#open?.stream.resume();
    this.#isHushed = false;
    this.#refusesNext = false;
    while (this.#deferred.length > 0) this.answerLate(0);
  }

  hush(): void {
    this.#isHushed = true;
  }

  answer(how: "ack" | "refuse" | "defer"): void {
    const message = this.#unanswered.shift();
    const stream = this.#open?.stream;
    if (message?.$case === "deleted") {
      // It holds nothing then, and can't tell another proxy which version it had.
      if (message.value.policy === buntingSyncV1.DeletionPolicy.DELETION_POLICY_EMPTY)
        this.#of(message.value.topic).held = undefined;
      return;
    }
    if (message === undefined || stream === undefined) {
      this.#refusesNext = how === "refuse";
      return;
    }
    const topicKey = message.value.topic as TopicKey;
    const topic = this.#of(topicKey);
    const digest = message.value.version?.digest ?? Buffer.alloc(0);
    const promised = digest.toString("hex");
    const leadsTo = lead(topic.held?.flags, message);
    // The proxy knows what this agent holds from its answers, so a delta always fits.
    if (leadsTo?.digest !== promised)
      throw new Error(`${message.$case} of ${topicKey} does not fit what is held`);
    const isNews = topic.held?.flags.digest !== promised;
    if (how === "refuse" && isNews) topic.refused.add(promised);
    const isRefused = isNews && topic.refused.has(promised);
    if (!isRefused) topic.held = { flags: leadsTo, entry: this.#entryOf(message) };
    const held = Buffer.from(topic.held?.flags.digest ?? "", "hex");
    const { number } = message;
    this.#deferred.push(() =>
      isRefused ? stream.nack(topicKey, "no", { number, held }) : stream.ack(topicKey, digest, [], number),
    );
    if (how !== "defer") this.answerLate(this.#deferred.length - 1);
  }

  answerLate(which: number): void {
    const index = which % Math.max(1, this.#deferred.length + this.#sent.length);
    const [send] = this.#deferred.splice(index, 1);
    if (send === undefined) {
      this.#sent[index - this.#deferred.length]?.();
      return;
    }
    send();
    this.#sent.push(send);
    if (this.#sent.length > maxSentAnswers) this.#sent.shift();
  }

  lose(replica: Replica): void {
    if (this.#open?.replica === replica) this.#disconnect();
  }

  advance(): void {
    // It has no clock.
  }

  get isLost(): boolean {
    return this.#open === undefined || this.#open.stream.hasEnded;
  }

  get isAtNewest(): boolean {
    return [...this.#topics].every(
      ([key, { held }]) => held?.flags.digest === this.#history.of(key).last?.digest,
    );
  }

  describe(): string {
    const at = [...this.#topics.values()].map(
      ({ held, floor }) => `holds ${held?.entry.index}, saw ${floor}`,
    );
    return `a scripted agent that ${at.join("; ")}; ${this.#unanswered.length} unanswered`;
  }

  leave(): Promise<void> {
    this.#disconnect();
    return Promise.resolve();
  }

  #disconnect(): void {
    this.#open?.connection.close();
    this.#open = undefined;
    this.#unanswered.length = 0;
    this.#deferred.length = 0;
    this.#sent.length = 0;
  }

  #take(message: NumberedResponse): void {
    switch (message.$case) {
      case "unchanged":
      case "delta":
      case "snapshot": {
        const topic = this.#of(message.value.topic);
        const { index } = this.#entryOf(message);
        if (index < topic.floor) throw new Error(`${message.$case}: ${index} came after ${topic.floor}`);
        topic.floor = index;
        this.#unanswered.push(message);
        return;
      }
      case "deleted":
        this.#unanswered.push(message);
        return;
      case "missing":
        return;
      default:
        throw new Error(`there came ${JSON.stringify(message)}`);
    }
  }

  #entryOf({ value: { topic, version } }: Versioned): HistoryEntry {
    if (version === undefined) throw new Error("a message without its version");
    return this.#history.of(topic).entryOf(version);
  }

  #of(topic: string): Topic {
    const found = this.#topics.get(topic);
    if (found === undefined) throw new Error(`nobody asked for ${topic}`);
    return found;
  }
}

/** What the agent would hold after a message, if it can be applied. */
function lead(held: HeldFlags | undefined, message: Versioned): HeldFlags | undefined {
  if (message.$case === "snapshot") return HeldFlags.ofSnapshot(message.value);
  if (message.$case === "unchanged") return held;
  return held?.digest === message.value.fromDigest.toString("hex") ? held.apply(message.value) : undefined;
}
