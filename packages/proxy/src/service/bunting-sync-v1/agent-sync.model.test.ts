import { expect } from "chai";
import fc from "fast-check";
import {
  buntingSyncV1,
  parseTopicSelector,
  type FlagDocument,
  type JsonObject,
  type TopicKey,
} from "@bunting/protocol";
import { callWriteListener } from "@bunting/http2";
import type {
  CloseListener,
  Method,
  ResponseStream,
  RpcStatus,
  TransportSession,
  WriteListener,
} from "@bunting/rpc";
import type { RequestListener } from "@bunting/rpc/internal/call/method.js";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { HeldFlags } from "@bunting/test/support/held-flags.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { noMetrics } from "../../proxy-metrics.js";
import { SubscribeBudget } from "../../subscriber/subscribe-budget.js";
import { TopicRegistry } from "../../topic/topic-registry.js";
import { AgentSync } from "./agent-sync.js";

type Response = NonNullable<buntingSyncV1.SyncResponse["message"]>;
type Versioned = Extract<Response, { $case: "unchanged" | "delta" | "snapshot" }>;
type Answer = Extract<NonNullable<buntingSyncV1.SyncRequest["message"]>, { $case: "ack" | "nack" }>;
type DeletionPolicy = "keep" | "empty" | "close";

/** `AGENT_SYNC_RUNS=20000` tries more than a test run has time for. */
const numRuns = Number(process.env["AGENT_SYNC_RUNS"] ?? 500);
const topics: readonly TopicKey[] = ["demo/a", "demo/b"];
const keys = ["k0", "k1", "k2", "k3"];
const ackTimeoutMs = 30_000;
const graceMs = 45_000;
const lingerMs = 10_000;
const ballast: JsonObject = { ballast: { state: "x".repeat(600) } };

type Command =
  | { readonly kind: "edit"; readonly topic: number; readonly states: readonly (number | undefined)[] }
  | { readonly kind: "return" | "adopt"; readonly agent: number; readonly topic: number; readonly to: number }
  | { readonly kind: "delete" | "subscribe" | "unsubscribe"; readonly agent: number; readonly topic: number }
  | { readonly kind: "disconnect" | "deliver"; readonly agent: number }
  | { readonly kind: "ack" | "nack" | "drop"; readonly agent: number; readonly isLate: boolean }
  | { readonly kind: "say"; readonly agent: number; readonly which: number; readonly isRepeated: boolean }
  | { readonly kind: "advance"; readonly ms: number };

const agent = fc.nat(2);
const topic = fc.nat(topics.length - 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      topic,
      states: fc.array(fc.option(fc.nat(2), { nil: undefined, freq: 4 }), { minLength: 5, maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("return" as const, "adopt" as const),
      agent,
      topic,
      to: fc.nat(40),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "subscribe" as const,
        "subscribe" as const,
        "subscribe" as const,
        "subscribe" as const,
        "unsubscribe" as const,
        "delete" as const,
      ),
      agent,
      topic,
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("deliver" as const), agent }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "ack" as const,
        "ack" as const,
        "ack" as const,
        "ack" as const,
        "nack" as const,
        "drop" as const,
      ),
      agent,
      isLate: fc.constantFrom(true, false, false),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("say" as const),
      agent,
      which: fc.nat(7),
      isRepeated: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("disconnect" as const), agent }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      ms: fc.constantFrom(1_000, lingerMs, ackTimeoutMs, graceMs),
    }),
  },
);

/** Topics are not charged here. */
const account = { bytes: 0, charge: () => undefined, release: () => undefined };

/** The sending half of a call; the test completes its writes one by one. */
class ScriptedCall implements ResponseStream {
  readonly session = { account, remoteAddress: "192.0.2.1" } as unknown as TransportSession;
  readonly stream: ResponseStream["stream"];
  readonly deadlineMs = undefined;
  readonly signal = new AbortController().signal;
  readonly unwritten: { readonly response: Response; readonly onWritten: WriteListener | undefined }[] = [];
  readonly #onWrite: (response: Response, number: number) => void;
  #written = 0;
  readonly #closeListeners: CloseListener[] = [];
  status: RpcStatus | undefined;

  constructor(onWrite: (response: Response, number: number) => void) {
    this.#onWrite = onWrite;
    this.stream = { session: this.session, admit: () => undefined } as ResponseStream["stream"];
  }

  header(): undefined {
    return undefined;
  }

  sendHeaders(): void {
    // Nothing waits for them here.
  }

  writeShared(frame: Uint8Array, onWritten?: WriteListener): void {
    this.write(frame, onWritten);
  }

  write(frame: Uint8Array, onWritten?: WriteListener): void {
    const { message } = buntingSyncV1.SyncResponse.decode(frame.subarray(5));
    if (message === undefined) throw new Error("an empty message was written");
    expect(this.unwritten, "a second write under way").to.have.length(0);
    this.unwritten.push({ response: message, onWritten });
    this.#onWrite(message, ++this.#written);
  }

  end(status: RpcStatus): void {
    this.status = status;
  }

  fail(error: unknown): void {
    throw error;
  }

  onClose(listener: CloseListener): void {
    this.#closeListeners.push(listener);
  }

  close(): void {
    for (const { onWritten } of this.unwritten.splice(0)) callWriteListener(onWritten, new Error("closed"));
    for (const one of this.#closeListeners.splice(0))
      if (typeof one === "function") one();
      else one.onClosed();
  }
}

/** What the model knows of one topic of an agent. */
interface AgentTopic {
  held: HeldFlags | undefined;
  isSubscribed: boolean;
  /** When it was sent the last message that it has not answered. */
  unansweredSinceMs: number | undefined;
  /** Number of the last message that asked for an answer, and the digest it leads to. */
  sentNumber: number;
  sent: string;
  /** Digest of what it refused since it last acknowledged something. */
  refused: string;
}

const nothingSent = { unansweredSinceMs: undefined, sentNumber: 0, sent: "", refused: "" };

/** A message and its place on the stream. */
interface Received {
  readonly number: number;
  readonly response: Response;
}

class Agent {
  call: ScriptedCall | undefined;
  listener: RequestListener<Uint8Array> | undefined;
  readonly topics = new Map<TopicKey, AgentTopic>(
    topics.map((each) => [each, { held: undefined, isSubscribed: false, ...nothingSent }]),
  );
  /** Messages delivered on the stream. */
  received = 0;
  /** What came and was not looked at. */
  readonly inbox: Received[] = [];
  /** Answers that are not sent yet, or are sent again. */
  readonly unsaid: Answer[] = [];

  of(one: string): AgentTopic {
    const found = this.topics.get(one as TopicKey);
    if (found === undefined) throw new Error(`a message about ${one}`);
    return found;
  }
}

class Model {
  readonly clock = new ManualClock();
  readonly source = new ScriptedSource(this.clock);
  readonly registry: TopicRegistry;
  readonly method: Extract<Method, { kind: "bidi-streaming" }>;
  readonly agents = [new Agent(), new Agent(), new Agent()];
  /** All documents a topic has had, one after the other. */
  readonly histories = new Map<TopicKey, HeldFlags[]>(topics.map((each) => [each, []]));
  readonly documents = new Map<TopicKey, FlagDocument[]>(topics.map((each) => [each, []]));
  readonly existing = new Set<TopicKey>();
  readonly counts = { subscriptions: 0, rejected: 0, streams: 0 };
  readonly #deletionPolicy: DeletionPolicy;

  constructor(deletionPolicy: DeletionPolicy) {
    this.#deletionPolicy = deletionPolicy;
    const metrics = {
      ...noMetrics,
      agentSubscriptions: (delta: number) => (this.counts.subscriptions += delta),
      rejectedFlags: (delta: number) => (this.counts.rejected += delta),
      activeStreams: (delta: number) => (this.counts.streams += delta),
    };
    const { clock, source } = this;
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    this.registry = new TopicRegistry({
      source,
      context: { clock, metrics, logger },
      lingerMs,
      missingPolicy: "hold",
      deletionGraceMs: graceMs,
      deletionPolicy,
    });
    const sync = new AgentSync({
      subscribing: {
        topics: this.registry,
        parseSelector: parseTopicSelector,
        context: { clock, metrics, log: new RateLimitedLog(logger, clock) },
      },
      ackTimeoutMs,
      requestTurns: new SubscribeBudget({ perTurn: Infinity }),
    });
    const [method] = sync.methods;
    if (method?.kind !== "bidi-streaming") throw new Error("no method");
    this.method = method;
  }

  run(one: Command): void {
    switch (one.kind) {
      case "edit":
        this.edit(one.topic, one.states);
        break;
      case "return": {
        const name = nameOf(one.topic);
        const known = this.documents.get(name) ?? [];
        const document = known[one.to % Math.max(1, known.length)];
        if (document !== undefined) this.publish(name, document);
        break;
      }
      case "adopt":
        this.adopt(this.#agent(one), nameOf(one.topic), one.to);
        break;
      case "delete":
        this.existing.delete(nameOf(one.topic));
        this.source.delete(nameOf(one.topic));
        break;
      case "advance":
        this.advance(one.ms);
        break;
      case "subscribe":
        this.subscribe(this.#agent(one), nameOf(one.topic));
        break;
      case "unsubscribe":
        this.unsubscribe(this.#agent(one), nameOf(one.topic));
        break;
      case "disconnect":
        this.disconnect(this.#agent(one));
        break;
      case "deliver":
        this.deliver(this.#agent(one));
        break;
      case "say":
        this.say(this.#agent(one), one.which, one.isRepeated);
        break;
      default:
        this.answer(this.#agent(one), one.kind, one.isLate);
    }
  }

  edit(index: number, states: readonly (number | undefined)[]): void {
    const flags: Record<string, JsonObject> = { ...ballast } as Record<string, JsonObject>;
    keys.forEach((key, at) => {
      const state = states[at];
      if (state !== undefined) flags[key] = { state: `${key} is ${state}` };
    });
    const last = states[keys.length];
    this.publish(nameOf(index), last === undefined ? { flags } : { flags, metadata: { v: last } });
  }

  publish(name: TopicKey, document: FlagDocument): void {
    this.existing.add(name);
    this.documents.get(name)?.push(document);
    this.histories.get(name)?.push(HeldFlags.of(document));
    this.source.publish(name, document);
  }

  /** The agent comes to hold some version from elsewhere: of this topic, or one that it never had. */
  adopt(one: Agent, name: TopicKey, to: number): void {
    const state = one.of(name);
    if (state.isSubscribed) return;
    state.held = this.histories.get(name)?.[to] ?? HeldFlags.of({ flags: { ...ballast, strange: { to } } });
  }

  advance(ms: number): void {
    // By the policy `empty` a deletion is a version of its own after the grace.
    if (this.#deletionPolicy === "empty")
      for (const name of topics)
        if (!this.existing.has(name)) this.histories.get(name)?.push(new HeldFlags(new Map()));
    this.clock.advance(ms);
  }

  connect(one: Agent): RequestListener<Uint8Array> {
    if (one.listener !== undefined) return one.listener;
    one.call = new ScriptedCall((response, number) => this.#judgeWrite(one, response, number));
    one.listener = this.method.invoke(one.call);
    send(one, { $case: "hello", value: { agent: "model", providerId: "" } });
    return one.listener;
  }

  disconnect(one: Agent): void {
    one.call?.close();
    one.call = undefined;
    one.listener = undefined;
    one.received = 0;
    one.inbox.length = 0;
    one.unsaid.length = 0;
    for (const state of one.topics.values()) Object.assign(state, { isSubscribed: false, ...nothingSent });
  }

  subscribe(one: Agent, name: TopicKey): void {
    const state = one.of(name);
    if (state.isSubscribed) return;
    this.connect(one);
    Object.assign(state, { isSubscribed: true, ...nothingSent });
    const { held } = state;
    const version = held && {
      uid: "",
      generation: "0",
      resourceVersion: "",
      digest: Buffer.from(held.digest, "hex"),
    };
    send(one, { $case: "subscribe", value: { topic: name, held: version } });
  }

  /** What is on its way about the topic is not looked at any more, as it is of the subscription that ended. */
  unsubscribe(one: Agent, name: TopicKey): void {
    const state = one.of(name);
    if (!state.isSubscribed || one.call === undefined) return;
    while (one.call.unwritten.length > 0) this.deliver(one);
    const rest = one.inbox.filter(({ response }) => topicOf(response) !== name);
    one.inbox.splice(0, one.inbox.length, ...rest);
    send(one, { $case: "unsubscribe", value: { topic: name } });
    Object.assign(state, { isSubscribed: false, ...nothingSent });
    // What was said before the proxy heard of the end.
    for (const { response } of one.call.unwritten) expect(topicOf(response)).not.to.equal(name);
  }

  /** The oldest write is done, and its message has come. */
  deliver(one: Agent): void {
    const written = one.call?.unwritten.shift();
    if (written === undefined) return;
    one.inbox.push({ number: ++one.received, response: written.response });
    for (const state of one.topics.values())
      if (state.sentNumber === one.received && state.unansweredSinceMs !== undefined)
        state.unansweredSinceMs = this.clock.monotonicMs();
    callWriteListener(written.onWritten);
  }

  /** The agent looks at the oldest message there is. What it does not answer at once it may answer late, or never. */
  answer(one: Agent, how: "ack" | "nack" | "drop", isLate: boolean): void {
    const received = one.inbox.shift();
    if (received === undefined) return;
    const { number, response } = received;
    switch (response.$case) {
      case "heartbeat":
      case "missing":
        return;
      case "deleted":
        if (response.value.policy === buntingSyncV1.DeletionPolicy.DELETION_POLICY_EMPTY)
          one.of(response.value.topic).held = undefined;
        return;
      case "topicError":
        throw new Error(`a topic was refused: ${response.value.message}`);
      case "tier":
      case "freshness":
      case "history":
      case "trial":
      case "sourceFlags":
        throw new Error("an agent was told what it did not ask for");
      default: {
        if (how === "drop") return;
        one.unsaid.push(this.#apply(one, number, response, how));
        if (!isLate) this.say(one, one.unsaid.length - 1, false);
      }
    }
  }

  /** Sends one of the answers that wait, be it late, out of order or not for the last time. */
  say(one: Agent, which: number, isRepeated: boolean): void {
    const index = which % Math.max(1, one.unsaid.length);
    const answer = one.unsaid[index];
    if (answer === undefined) return;
    if (!isRepeated) one.unsaid.splice(index, 1);
    const state = one.of(answer.value.topic);
    if (state.isSubscribed && answer.value.number === String(state.sentNumber) && this.#isUnanswered(state)) {
      state.unansweredSinceMs = undefined;
      state.refused = answer.$case === "nack" ? state.sent : "";
    }
    send(one, answer);
  }

  /** The agent applies a message, or refuses to. Returns what it answers. */
  #apply(one: Agent, number: number, response: Versioned, how: "ack" | "nack"): Answer {
    const { topic: name, version } = response.value;
    const state = one.of(name);
    const digest = version?.digest ?? Buffer.alloc(0);
    const leads = this.#lead(state, response);
    expect(leads?.digest, `what ${response.$case} leads to`).to.equal(digest.toString("hex"));
    const answered = { topic: name, number: String(number) };
    if (how === "ack") {
      state.held = leads;
      const rejectedFlags = [{ key: "k0", reason: "" }].slice(0, digest[0] ?? 0 & 1);
      return { $case: "ack", value: { ...answered, digest, rejectedFlags } };
    }
    const heldDigest = Buffer.from(state.held?.digest ?? "", "hex");
    return { $case: "nack", value: { ...answered, heldDigest, reason: "no", isDeltaMismatch: false } };
  }

  /** What the agent would hold by a message, if it can be applied to what it holds. */
  #lead({ held }: AgentTopic, response: Versioned): HeldFlags | undefined {
    if (response.$case === "snapshot") return HeldFlags.ofSnapshot(response.value);
    if (response.$case === "unchanged") return held;
    const from = response.value.fromDigest.toString("hex");
    return held?.digest === from ? held.apply(response.value) : undefined;
  }

  #isUnanswered({ unansweredSinceMs }: AgentTopic): boolean {
    return unansweredSinceMs !== undefined && this.clock.monotonicMs() < unansweredSinceMs + ackTimeoutMs;
  }

  /** Judges a message at the moment at which the proxy makes it. */
  #judgeWrite(one: Agent, response: Response, number: number): void {
    if (response.$case === "heartbeat" || response.$case === "tier" || response.$case === "sourceFlags")
      return;
    const name = response.value.topic as TopicKey;
    const state = one.of(name);
    expect(this.#isUnanswered(state), "a second message of a topic without an answer").to.be.false;
    if (response.$case !== "unchanged" && response.$case !== "delta" && response.$case !== "snapshot") return;
    // The agent's time begins when it is written.
    state.unansweredSinceMs = Infinity;
    state.sentNumber = number;
    state.sent = response.value.version?.digest.toString("hex") ?? "";
    const history = this.histories.get(name) ?? [];
    if (this.existing.has(name))
      expect(response.value.version?.digest.toString("hex")).to.equal(history.at(-1)?.digest);
    if (response.$case === "delta") judgeDelta(response.value, history);
  }

  /** Everybody reads and answers until there is nothing more to say. */
  settle(): void {
    for (const one of this.agents) {
      while (one.inbox.length > 0 || (one.call?.unwritten.length ?? 0) > 0) {
        this.deliver(one);
        this.answer(one, "ack", false);
      }
    }
  }

  /** All subscribed agents hold the newest version, unless they refused it. */
  judgeEnd(isUnseen: boolean): void {
    for (const one of this.agents)
      for (const [name, { isSubscribed, held, refused }] of one.topics) {
        const newest = this.histories.get(name)?.at(-1)?.digest;
        if (!isSubscribed || !this.existing.has(name)) continue;
        if (isUnseen || refused !== newest) expect(held?.digest).to.equal(newest);
      }
  }

  /** The proxy knows what each agent holds, or does not know it where it has nothing left to send that would be answered. */
  judgeKnown(): void {
    for (const topic of this.registry.topics()) {
      const held = new Map<string, number>();
      for (const one of this.agents) {
        const state = one.of(topic.key);
        if (!state.isSubscribed || state.held === undefined) continue;
        held.set(state.held.digest, (held.get(state.held.digest) ?? 0) + 1);
      }
      const known = Object.fromEntries(topic.acks.held);
      if (topic.newest !== undefined) expect(known).to.deep.equal(Object.fromEntries(held));
      for (const [digest, count] of topic.acks.held) expect(count).to.be.at.most(held.get(digest) ?? 0);
    }
  }

  #agent({ agent: index }: { readonly agent: number }): Agent {
    return this.agents[index] ?? new Agent();
  }
}

/** Each flag that a delta speaks of has changed at least once since the version it starts from. */
function judgeDelta(delta: buntingSyncV1.Delta, history: readonly HeldFlags[]): void {
  const from = history.findLastIndex(({ digest }) => digest === delta.fromDigest.toString("hex"));
  expect(from, "a delta from what never was").to.be.at.least(0);
  const way = history.slice(from);
  for (const { key } of delta.flags)
    expect(new Set(way.map(({ flags }) => flags.get(key))).size, `${key} never changed`).to.be.above(1);
  if (delta.metadata !== undefined)
    expect(new Set(way.map(({ metadata }) => metadata)).size, "metadata never changed").to.be.above(1);
  expect(delta.evaluators).to.equal(undefined);
}

function nameOf(index: number): TopicKey {
  return topics[index] ?? "demo/a";
}

function topicOf({ value }: Response): string | undefined {
  return "topic" in value ? value.topic : undefined;
}

function send(one: Agent, message: NonNullable<buntingSyncV1.SyncRequest["message"]>): void {
  one.listener?.onMessage(buntingSyncV1.SyncRequest.encode({ message }).finish());
}

describe("bunting.sync.v1 under random edits, answers and ends", function () {
  this.timeout(Math.max(60_000, 60 * numRuns));

  it("leads every agent from what it holds to the newest, by no more than what differs, one message at a time", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("keep" as const, "empty" as const, "close" as const),
        fc.array(command, { minLength: 20, maxLength: 120, size: "max" }),
        fc.boolean(),
        async (deletionPolicy, commands, hasLastEdit) => {
          const model = new Model(deletionPolicy);
          for (const one of commands) {
            model.run(one);
            // Lets the source answer new watches.
            await Promise.resolve();
          }
          if (hasLastEdit) {
            model.edit(0, [7, 7, 7, 7, 7]);
            model.edit(1, [8, undefined, 8, 8, undefined]);
          }
          model.settle();
          // Messages that were never answered time out.
          model.advance(ackTimeoutMs);
          model.settle();
          model.judgeEnd(hasLastEdit);
          model.judgeKnown();

          for (const one of model.agents) model.disconnect(one);
          model.clock.advance(graceMs + 2 * lingerMs);
          expect(model.registry.size).to.equal(0);
          expect(model.clock.pendingTimers).to.equal(0);
          expect(model.counts).to.deep.equal({ subscriptions: 0, rejected: 0, streams: 0 });
        },
      ),
      { numRuns, interruptAfterTimeLimit: Math.max(50_000, 50 * numRuns) },
    );
  });
});
