import type { AgentStreamContext } from "./agent-stream-context.js";
import type { TopicSubscriber } from "./topic-subscriber.js";

/** The topics that a stream of bunting.sync.v1 is subscribed to. */
export class StreamTopics {
  readonly #context: Pick<AgentStreamContext, "access" | "leftBehind">;
  readonly #subscribers = new Map<string, TopicSubscriber>();
  /** Those that may have something to send, in the order of their wakes. */
  readonly #due = new Set<TopicSubscriber>();

  constructor(context: Pick<AgentStreamContext, "access" | "leftBehind">) {
    this.#context = context;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  of(topic: string): TopicSubscriber | undefined {
    return this.#subscribers.get(topic);
  }

  /** False also after another subscription of the same topic has taken its place. */
  has(subscriber: TopicSubscriber): boolean {
    return this.#subscribers.get(subscriber.topic) === subscriber;
  }

  add(subscriber: TopicSubscriber): void {
    this.#subscribers.set(subscriber.topic, subscriber);
  }

  /** Of a subscriber that was not opened. */
  delete({ topic }: TopicSubscriber): void {
    this.#subscribers.delete(topic);
  }

  /** False if it is none of these. */
  due(subscriber: TopicSubscriber): boolean {
    if (!this.has(subscriber)) return false;
    this.#due.add(subscriber);
    return true;
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
    this.delete(subscriber);
    this.#due.delete(subscriber);
    this.#context.access.forgetTopic(subscriber);
    subscriber.close();
  }

  /** Ends all. */
  close(): void {
    this.#context.leftBehind.leaves(
      [...this.#subscribers.values()].flatMap(({ subscription }) => subscription ?? []),
    );
    for (const subscriber of this.#subscribers.values()) this.drop(subscriber);
  }
}
