import { ProtocolError, type buntingSyncV1 } from "@bunting/protocol";
import type { RpcStatus } from "@bunting/rpc";
import type { Admission } from "../access/access.js";
import { ProxyError } from "../proxy-error.js";
import { abuse } from "./agent-request.js";
import type { AgentStreamContext } from "./agent-stream-context.js";
import { DueTopics } from "./due-topics.js";
import type { SubscriberOwner } from "./subscriber-owner.js";
import { TopicSubscriber } from "./topic-subscriber.js";

/** The version that an agent resumes from. */
type Held = buntingSyncV1.Version | undefined;

/** Limit of authorizations under way, also those of topics left meanwhile; beyond it, no more requests are read. */
const maxAuthorizing = 64;

export interface TopicsOwner extends SubscriberOwner<TopicSubscriber> {
  /** The subscription of a topic is refused; the others go on. */
  refuseTopic(topic: string, status: RpcStatus): void;
  /** Requests may go on that have waited until an authorization was decided, or an error written. */
  onRoom(): void;
  fail(error: unknown): void;
}

/**
 * The topics that a stream of bunting.sync.v1 is subscribed to. Nearly every stream has one, and there may be 10,000 streams: so a
 * Map is made with the second topic, and those that are due are a list through the subscribers.
 */
export class StreamTopics {
  readonly #context: AgentStreamContext;
  readonly #owner: TopicsOwner;
  /** The only subscriber; undefined if there is none, or there is a Map. */
  #sole: TopicSubscriber | undefined;
  /** All subscribers, once there were two. */
  #subscribers: Map<string, TopicSubscriber> | undefined;
  readonly #due = new DueTopics<TopicSubscriber>();
  /** Authorizations that wait for a decision. */
  #authorizing = 0;

  constructor(context: AgentStreamContext, owner: TopicsOwner) {
    this.#context = context;
    this.#owner = owner;
  }

  get isFull(): boolean {
    return this.#authorizing >= maxAuthorizing;
  }

  of(topic: string): TopicSubscriber | undefined {
    if (this.#subscribers !== undefined) return this.#subscribers.get(topic);
    return this.#sole?.topic === topic ? this.#sole : undefined;
  }

  /** False also after another subscription of the same topic has taken its place. */
  has(subscriber: TopicSubscriber): boolean {
    return this.of(subscriber.topic) === subscriber;
  }

  /** @throws RpcError if the stream is subscribed already. */
  subscribe({ topic: selector, held, trialDigest }: buntingSyncV1.Subscribe, admission: Admission): void {
    const { maxTopics, parseTopic, statusOf, limitReached } = this.#context;
    const { connection } = this.#owner;
    try {
      const topic = parseTopic(selector);
      if (this.of(topic) !== undefined) throw abuse(`this stream is subscribed to ${topic} already`);
      if (this.#size < maxTopics) {
        const subscriber = new TopicSubscriber(this.#context, this.#owner, topic);
        if (trialDigest !== undefined) subscriber.trials?.hasOther();
        this.#authorize(subscriber, admission, held);
        return;
      }
      const message = `a stream has at most ${maxTopics} topics; open another one`;
      this.#owner.refuseTopic(selector, statusOf(limitReached("topics_per_stream", connection, message)));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#owner.refuseTopic(selector, { code: "INVALID_ARGUMENT", message: error.message });
    }
  }

  #authorize(subscriber: TopicSubscriber, admission: Admission, held: Held): void {
    const { topic, connection } = subscriber;
    const refusal = this.#context.access.authorize(admission, topic, connection);
    if (!(refusal instanceof Promise)) {
      this.#join(subscriber, admission, held, refusal);
      return;
    }
    // Until the decision the topic counts as subscribed, but receives nothing.
    this.#add(subscriber);
    this.#authorizing++;
    refusal
      .finally(() => {
        this.#authorizing--;
        this.#owner.onRoom();
      })
      .then((settled) => {
        if (this.has(subscriber)) this.#join(subscriber, admission, held, settled);
      })
      .catch((error: unknown) => this.#owner.fail(error));
  }

  #join(
    subscriber: TopicSubscriber,
    admission: Admission,
    held: Held,
    refusal: ProxyError | undefined,
  ): void {
    const { topic } = subscriber;
    const { access, subscribe, statusOf, leftBehind } = this.#context;
    try {
      if (refusal !== undefined) throw refusal;
      const subscription = subscribe(topic, subscriber);
      this.#add(subscriber);
      access.watchTopic(admission, topic, subscriber);
      subscriber.open(subscription, held);
      leftBehind.subscribed(topic, subscriber, held?.digest.toString("hex"));
    } catch (error) {
      this.#delete(subscriber);
      if (!(error instanceof ProxyError)) throw error;
      this.#owner.refuseTopic(topic, statusOf(error));
    }
  }

  /** False if it is none of these. */
  due(subscriber: TopicSubscriber): boolean {
    if (!this.has(subscriber)) return false;
    this.#due.add(subscriber);
    return true;
  }

  get hasDue(): boolean {
    return !this.#due.isEmpty;
  }

  /** The next one that is due. */
  takeDue(): TopicSubscriber | undefined {
    return this.#due.take();
  }

  /** True while one has something newer than what its agent has not answered yet. */
  get isBehind(): boolean {
    for (const { isBehind } of this.#all) if (isBehind) return true;
    return false;
  }

  drop(subscriber: TopicSubscriber): void {
    this.#delete(subscriber);
    this.#due.delete(subscriber);
    this.#context.access.forgetTopic(subscriber);
    subscriber.close();
  }

  /** Ends all. */
  close(): void {
    const all = this.#all;
    this.#context.leftBehind.leaves(all.flatMap(({ subscription }) => subscription ?? []));
    this.#due.clear();
    for (const subscriber of all) this.drop(subscriber);
  }

  get #size(): number {
    return this.#subscribers?.size ?? (this.#sole === undefined ? 0 : 1);
  }

  get #all(): readonly TopicSubscriber[] {
    if (this.#subscribers !== undefined) return [...this.#subscribers.values()];
    return this.#sole === undefined ? [] : [this.#sole];
  }

  #add(subscriber: TopicSubscriber): void {
    const sole = this.#sole;
    if (this.#subscribers === undefined && (sole === undefined || sole.topic === subscriber.topic)) {
      this.#sole = subscriber;
      return;
    }
    this.#subscribers ??= new Map(sole === undefined ? [] : [[sole.topic, sole]]);
    this.#sole = undefined;
    this.#subscribers.set(subscriber.topic, subscriber);
  }

  /** Removes whoever is subscribed to the topic. */
  #delete({ topic }: TopicSubscriber): void {
    if (this.#sole?.topic === topic) this.#sole = undefined;
    this.#subscribers?.delete(topic);
  }
}
