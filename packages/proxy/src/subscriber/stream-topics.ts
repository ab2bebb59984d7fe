import { ProtocolError, type buntingSyncV1 } from "@bunting/protocol";
import type { RpcStatus } from "@bunting/rpc";
import type { Admission } from "../access/access.js";
import { ProxyError } from "../proxy-error.js";
import { abuse } from "./agent-request.js";
import type { AgentStreamContext } from "./agent-stream-context.js";
import { TopicSubscriber, type SubscriberOwner } from "./topic-subscriber.js";

/** The version that an agent resumes from. */
type Held = buntingSyncV1.Version | undefined;

/** Limit of authorizations under way, also those of topics left meanwhile; beyond it, no more requests are read. */
const maxAuthorizing = 64;

export interface TopicsOwner extends SubscriberOwner {
  /** The subscription of a topic is refused; the others go on. */
  refuseTopic(topic: string, status: RpcStatus): void;
  /** Requests may go on that have waited until an authorization was decided, or an error written. */
  onRoom(): void;
  fail(error: unknown): void;
}

/** The topics that a stream of bunting.sync.v1 is subscribed to. */
export class StreamTopics {
  readonly #context: AgentStreamContext;
  readonly #owner: TopicsOwner;
  readonly #subscribers = new Map<string, TopicSubscriber>();
  /** Those that may have something to send, in the order of their wakes. */
  readonly #due = new Set<TopicSubscriber>();
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
    return this.#subscribers.get(topic);
  }

  /** False also after another subscription of the same topic has taken its place. */
  has(subscriber: TopicSubscriber): boolean {
    return this.#subscribers.get(subscriber.topic) === subscriber;
  }

  /** @throws RpcError if the stream is subscribed already. */
  subscribe({ topic: selector, held }: buntingSyncV1.Subscribe, admission: Admission): void {
    const { maxTopics, parseTopic, statusOf, limitReached } = this.#context;
    const { connection } = this.#owner;
    try {
      const topic = parseTopic(selector);
      if (this.of(topic) !== undefined) throw abuse(`this stream is subscribed to ${topic} already`);
      if (this.#subscribers.size < maxTopics) {
        this.#authorize(new TopicSubscriber(this.#context, this.#owner, topic), admission, held);
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
    this.#subscribers.set(topic, subscriber);
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
      this.#subscribers.set(topic, subscriber);
      access.watchTopic(admission, topic, subscriber);
      subscriber.open(subscription, held);
      leftBehind.subscribed(topic, subscriber, held?.digest.toString("hex"));
    } catch (error) {
      this.#subscribers.delete(topic);
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
    return this.#due.size > 0;
  }

  /** The next one that is due. */
  takeDue(): TopicSubscriber | undefined {
    const [subscriber] = this.#due;
    if (subscriber !== undefined) this.#due.delete(subscriber);
    return subscriber;
  }

  /** True while one has something newer than what its agent has not answered yet. */
  get isBehind(): boolean {
    for (const { isBehind } of this.#subscribers.values()) if (isBehind) return true;
    return false;
  }

  drop(subscriber: TopicSubscriber): void {
    this.#subscribers.delete(subscriber.topic);
    this.#due.delete(subscriber);
    this.#context.access.forgetTopic(subscriber);
    subscriber.close();
  }

  /** Ends all. */
  close(): void {
    const all = [...this.#subscribers.values()];
    this.#context.leftBehind.leaves(all.flatMap(({ subscription }) => subscription ?? []));
    for (const subscriber of all) this.drop(subscriber);
  }
}
