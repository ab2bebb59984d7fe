import type { InterestRequest, Interest } from "@bunting/backplane";
import type { ReplicatedTopic } from "./replicated-topic.js";

/** What this replica asks of the owners of topics. What can't be asked without Redis is asked when Redis is there. */
export class OwnerQuestions {
  readonly #interest: Pick<Interest, "ask">;
  readonly #waiting = new Map<ReplicatedTopic, InterestRequest>();

  constructor(interest: Pick<Interest, "ask">) {
    this.#interest = interest;
  }

  ask(topic: ReplicatedTopic, asked: InterestRequest): void {
    this.#waiting.delete(topic);
    void this.#interest.ask(topic.unit.name, topic.key, asked).catch(() => this.#waiting.set(topic, asked));
  }

  /** Redis is there: asks what nobody has answered meanwhile. */
  askAgain(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [topic, asked] of waiting)
      if (topic.isUnconfirmed && topic.unit.lease === undefined) this.ask(topic, asked);
  }

  /** The topic has no subscribers here any more. */
  forget(topic: ReplicatedTopic): void {
    this.#waiting.delete(topic);
  }
}
