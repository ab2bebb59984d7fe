import type { InterestRequest, Interest } from "@bunting/backplane";
import type { ReplicatedTopic } from "./replicated-topic.js";

/** Requests of this replica to the owner. Those that fail without Redis are sent when Redis is back. */
export class OwnerRequests {
  readonly #interest: Pick<Interest, "ask">;
  readonly #waiting = new Map<ReplicatedTopic, InterestRequest>();

  constructor(interest: Pick<Interest, "ask">) {
    this.#interest = interest;
  }

  send(topic: ReplicatedTopic, asked: InterestRequest): void {
    this.#waiting.delete(topic);
    void this.#interest.ask(topic.key, asked).catch(() => this.#waiting.set(topic, asked));
  }

  /** Redis is back: sends the requests that are still needed; this replica is not the owner. */
  resend(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [topic, asked] of waiting) if (topic.following.isUnconfirmed) this.send(topic, asked);
  }

  /** The topic has no subscribers here any more. */
  forget(topic: ReplicatedTopic): void {
    this.#waiting.delete(topic);
  }
}
