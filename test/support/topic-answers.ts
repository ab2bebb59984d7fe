import type { TopicKey } from "@bunting/protocol";
import { AgentConnection, type AgentClientStream, type AgentResponse } from "./agent-client.js";
import { eventually, lookMs } from "./event-queue.js";

const topicsPerStream = 8;

/** Agents that follow any number of topics, acknowledge each version, and note what the proxy said last of each. */
export class TopicAnswers {
  readonly #connections: AgentConnection[] = [];
  readonly #streams: AgentClientStream[] = [];
  readonly #answers = new Map<TopicKey, AgentResponse>();

  /** Resolves once something was said of each. */
  async follow(port: number, topics: readonly TopicKey[]): Promise<void> {
    for (let from = 0; from < topics.length; from += topicsPerStream) {
      const connection = await AgentConnection.open(port);
      this.#connections.push(connection);
      const stream = connection.stream(false);
      this.#streams.push(stream);
      stream.send({ $case: "hello", value: { agent: "test/1", providerId: "", readsFreshness: true } });
      for (const topic of topics.slice(from, from + topicsPerStream)) stream.subscribe(topic);
    }
    await this.until(() => topics.every((topic) => this.#answers.has(topic)), "all are answered");
  }

  /** Those of which it was said last that they are stale. */
  get stale(): readonly TopicKey[] {
    return [...this.#answers].flatMap(([topic, { $case }]) => ($case === "freshness" ? [topic] : []));
  }

  /** Reads what has arrived until the condition holds. */
  async until(condition: () => boolean, what: string): Promise<void> {
    const look = async (): Promise<boolean> => {
      for (const stream of this.#streams)
        while (stream.messages.size > 0) this.#take(stream, await stream.messages.nextEvent());
      return condition();
    };
    await eventually(look, what, undefined, lookMs);
  }

  /** Makes an edit, and waits for whatever the proxy says of it. */
  async edit(topic: TopicKey, write: () => void): Promise<void> {
    const before = this.#answers.get(topic);
    write();
    await this.until(() => this.#answers.get(topic) !== before, `an answer about ${topic}`);
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #take(stream: AgentClientStream, message: AgentResponse): void {
    if (!("topic" in message.value)) return;
    // That it is fresh again is said beside the version.
    if (message.$case === "freshness" && !message.value.isStale) return;
    const topic = message.value.topic as TopicKey;
    this.#answers.set(topic, message);
    if ("version" in message.value) stream.ack(topic, message.value.version?.digest);
  }
}
