import type { TopicKey } from "@bunting/protocol";
import { AckingAgent } from "./acking-agent.js";
import type { AgentResponse } from "./agent-client.js";
import { eventually, lookMs } from "./event-queue.js";

const topicsPerAgent = 8;

/** Agents that follow any number of topics, and what the proxy said last of each. */
export class TopicAnswers {
  readonly #agents: AckingAgent[] = [];
  readonly #answers = new Map<TopicKey, AgentResponse>();

  /** Resolves once something was said of each. */
  async follow(port: number, topics: readonly TopicKey[]): Promise<void> {
    const onMessage = (message: AgentResponse): void => this.#note(message);
    for (let from = 0; from < topics.length; from += topicsPerAgent)
      this.#agents.push(
        await AckingAgent.start(port, topics.slice(from, from + topicsPerAgent), { onMessage }),
      );
    await this.until(() => topics.every((topic) => this.#answers.has(topic)), "all are answered");
  }

  /** Those of which it was said last that they are stale. */
  get stale(): readonly TopicKey[] {
    return [...this.#answers].flatMap(([topic, { $case }]) => ($case === "freshness" ? [topic] : []));
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    await eventually(condition, what, undefined, lookMs);
  }

  /** Makes an edit, and waits for whatever the proxy says of it. */
  async edit(topic: TopicKey, write: () => void): Promise<void> {
    const before = this.#answers.get(topic);
    write();
    await this.until(() => this.#answers.get(topic) !== before, `an answer about ${topic}`);
  }

  close(): void {
    for (const agent of this.#agents) agent.close();
  }

  #note(message: AgentResponse): void {
    // That it is fresh again is said beside the version.
    if (!("topic" in message.value) || (message.$case === "freshness" && !message.value.isStale)) return;
    this.#answers.set(message.value.topic as TopicKey, message);
  }
}
