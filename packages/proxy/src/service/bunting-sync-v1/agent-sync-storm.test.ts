import { expect } from "chai";
import { setImmediate as nextTurn } from "node:timers/promises";
import { buntingSyncV1, parseTopicSelector } from "@bunting/protocol";
import type { ResponseStream, TransportSession } from "@bunting/rpc";
import { streamBytes, type OpenAccount } from "@bunting/http2/internal/account.js";
import { PeerMemory } from "@bunting/server";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { noMetrics as metrics } from "../../proxy-metrics.js";
import { SubscribeBudget } from "../../subscriber/subscribe-budget.js";
import { TopicRegistry } from "../../topic/topic-registry.js";
import { AgentSync } from "./agent-sync.js";

const topicsPerAgent = 40;
/** What a stream that is not read is charged: its window, and the high-water mark of Node 24. */
const pausedBytes = 65_535 + 64 * 1024;

/** The sending half of a call of an agent on a connection of its own. Nothing that it is sent is ever taken. */
class IdleCall implements ResponseStream {
  readonly stream: ResponseStream["stream"];
  readonly deadlineMs = undefined;
  readonly signal = new AbortController().signal;
  isPaused = false;

  constructor(account: OpenAccount) {
    account.charge(streamBytes);
    this.stream = {
      session: { account, remoteAddress: "192.0.2.1" } as unknown as TransportSession,
      pauseReading: () => {
        if (!this.isPaused) account.charge(pausedBytes);
        this.isPaused = true;
      },
      resumeReading: () => undefined,
      admit: () => undefined,
    } as unknown as ResponseStream["stream"];
  }

  header(): undefined {
    return undefined;
  }

  sendHeaders(): void {
    // They are never taken.
  }

  writeShared(): void {
    // It is never taken.
  }

  write(): void {
    // It is never taken.
  }

  end(): void {
    // It is never taken.
  }

  fail(error: unknown): void {
    throw error;
  }

  onClose(): void {
    // It stays open.
  }
}

describe("a reconnect storm of agents", () => {
  /** Agents that have each sent so many requests before the second turn of the event loop. */
  async function storm(agents: number, requests: number) {
    const clock = new ManualClock();
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const log = new RateLimitedLog(logger, clock);
    const source = new ScriptedSource(clock);
    const topics = new TopicRegistry({
      source,
      context: { clock, metrics, logger },
      lingerMs: 10_000,
      missingPolicy: "hold",
      deletionGraceMs: 45_000,
      deletionPolicy: "keep",
    });
    const [sync] = new AgentSync({
      subscribing: { topics, parseSelector: parseTopicSelector, context: { clock, metrics, log } },
      maxTopicsPerStream: topicsPerAgent,
      requestTurns: new SubscribeBudget({ clock }),
    }).methods;
    if (sync?.kind !== "bidi-streaming") throw new Error("no method");
    // The default where the heap has 512 MiB.
    const memory = new PeerMemory(560 * 1024 * 1024);
    const messages = requestsOf(requests);
    let evicted = 0;
    const calls = Array.from({ length: agents }, () => {
      const call = new IdleCall(memory.open(() => evicted++));
      const listener = sync.invoke(call);
      for (const message of messages) listener.onMessage(message);
      return call;
    });
    await nextTurn();
    return { evicted, paused: calls.filter(({ isPaused }) => isPaused).length, memory };
  }

  it("evicts none of 10,000 that subscribe to 40 topics each, of which nearly all wait", async () => {
    const { evicted, paused, memory } = await storm(10_000, topicsPerAgent);
    expect({ evicted, paused }).to.deep.equal({ evicted: 0, paused: 0 });
    expect(memory.bytes).to.be.below(memory.budgetBytes);
  });

  it("does not read on what those send that send far more", async () => {
    expect(await storm(10, 1_000)).to.include({ evicted: 0, paused: 10 });
  });
});

/** A hello and subscribes, encoded. */
function requestsOf(subscribes: number): readonly Buffer[] {
  const hello = encode({ $case: "hello", value: { agent: "bunting-agent/0.1.0", providerId: "" } });
  const others = Array.from({ length: subscribes }, (_, index) => {
    const held = {
      digest: Buffer.alloc(32, 7),
      uid: "0".repeat(36),
      generation: "1",
      resourceVersion: "123456",
    };
    const topic = `demo/flags-of-an-application-${index}`;
    return encode({ $case: "subscribe", value: { topic, held } });
  });
  return [hello, ...others];
}

function encode(message: NonNullable<buntingSyncV1.SyncRequest["message"]>): Buffer {
  return Buffer.from(buntingSyncV1.SyncRequest.encode({ message }).finish());
}
