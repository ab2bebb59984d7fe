import { setTimeout as delay } from "node:timers/promises";
import type { buntingSyncV1, TopicKey } from "@bunting/protocol";
import { AgentConnection, type AgentClientStream, type AgentResponse } from "./agent-client.js";

export interface AckingAgentOptions {
  readonly program?: string;
  /** Refused in every version. */
  readonly rejectedFlags?: buntingSyncV1.RejectedFlag[];
  /** Called with each message, before it is acknowledged. An agent that is given this is sent `freshness`, too. */
  readonly onMessage?: (message: AgentResponse) => void;
}

/** How often it looks whether something has arrived. */
const lookMs = 20;

/** An agent of bunting.sync.v1 that acknowledges whatever it is sent, until it is hushed. */
export class AckingAgent {
  readonly #connection: AgentConnection;
  readonly #stream: AgentClientStream;
  #isHushed = false;

  private constructor(connection: AgentConnection, stream: AgentClientStream) {
    this.#connection = connection;
    this.#stream = stream;
  }

  static async start(
    port: number,
    topics: readonly string[],
    options: AckingAgentOptions = {},
  ): Promise<AckingAgent> {
    const connection = await AgentConnection.open(port);
    const stream = connection.stream(false);
    const reads = options.onMessage === undefined ? {} : { readsFreshness: true };
    stream.send({ $case: "hello", value: { agent: options.program ?? "test/1", providerId: "", ...reads } });
    const agent = new AckingAgent(connection, stream);
    void agent.#answer(options);
    for (const topic of topics) stream.subscribe(topic);
    return agent;
  }

  /** From now on it reads, and answers nothing. */
  hush(): void {
    this.#isHushed = true;
  }

  close(): void {
    this.#connection.close();
  }

  async #answer({ rejectedFlags = [], onMessage }: AckingAgentOptions): Promise<void> {
    const { messages } = this.#stream;
    while (!this.#stream.hasEnded) {
      await delay(lookMs);
      while (messages.size > 0) {
        const message = await messages.nextEvent();
        onMessage?.(message);
        if (this.#isHushed || !("version" in message.value)) continue;
        const { topic, version } = message.value;
        this.#stream.ack(topic as TopicKey, version?.digest, rejectedFlags, message.number);
      }
    }
  }
}
