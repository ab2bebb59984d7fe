import type { Known } from "./known.js";
import type { ReplicatedTopic } from "./replicated-topic.js";

type State = Known | undefined;

/** Waits for the states that topics have at its construction, or later ones: each has to be written, or fail to be. */
export class Settling {
  /** Resolves when no topic is left. */
  readonly over: Promise<void>;
  /** With the state that is waited for. */
  readonly #left: Map<ReplicatedTopic, State>;
  #resolve: () => void = () => undefined;

  constructor(topics: Iterable<ReplicatedTopic>) {
    this.#left = new Map([...topics].map((topic) => [topic, topic.current]));
    this.over = new Promise((resolve) => (this.#resolve = resolve));
    this.#look();
  }

  /** A command for the state is sent. What changes from now on is not waited for, or there would be always one more. */
  begun(topic: ReplicatedTopic, state: State): void {
    if (this.#left.has(topic)) this.#left.set(topic, state);
  }

  /** The last command for the state has ended. */
  ended(topic: ReplicatedTopic, state: State): void {
    if (state === topic.current || state === this.#left.get(topic)) this.#left.delete(topic);
    this.#look();
  }

  /** Nothing is written any more. */
  giveUp(): void {
    this.#left.clear();
    this.#look();
  }

  #look(): void {
    if (this.#left.size === 0) this.#resolve();
  }
}
