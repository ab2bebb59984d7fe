import type { DocumentVersion } from "@bunting/sync-client/messages";
import { buntingSyncV1, type TopicKey } from "@bunting/protocol";
import { FlagStore } from "@bunting/agent/internal/store/flag-store.js";
import { HeapBudget } from "@bunting/agent/internal/store/heap-budget.js";
import { noStoreMetrics } from "@bunting/agent/internal/store/store-metrics.fixture.js";
import { createSyncSource } from "@bunting/agent/internal/sync/create-source.fixture.js";
import type { Delivery, DeliveryResult, SyncSource } from "@bunting/agent/internal/sync/sync-source.js";
import { parseSources } from "@bunting/agent/internal/sync/parse-sources.js";
import { noSyncMetrics } from "@bunting/agent/internal/sync/sync-metrics.fixture.js";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "../../support/manual-clock.js";
import { TcpSwitch } from "../../support/tcp-switch.js";
import type { TopicHistory } from "./flag-history.js";
import type { Replica } from "./replica.js";
import type { Subscriber } from "./subscriber.js";

/** With larger steps the agent would take the proxy for silent, which had no time to send anything. */
const maxStepMs = 10_000;

/** The agent's own source and store. Its address leads to one proxy or the other; it notices a change by the loss of its connection. */
export class RealAgent implements Subscriber {
  readonly #history: TopicHistory;
  readonly #address: TcpSwitch;
  readonly #clock = new ManualClock();
  readonly #store: FlagStore;
  readonly #source: SyncSource;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #floor = -1;
  /** The first error found in a callback, where a throw would be caught. */
  #fault: Error | undefined;

  private constructor(topic: TopicKey, history: TopicHistory, address: TcpSwitch) {
    this.#history = history;
    this.#address = address;
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const sources = JSON.stringify([{ uri: `127.0.0.1:${address.port}`, provider: "grpc", selector: topic }]);
    const [config] = parseSources({ uris: [], sources });
    if (config === undefined) throw new Error("there is one source");
    const budget = new HeapBudget();
    const store = new FlagStore({ sources: [config], budget, context: { logger, metrics: noStoreMetrics } });
    this.#store = store;
    this.#source = createSyncSource(config, {
      receiver: {
        deliver: (delivery) => this.#deliver(delivery),
        currentDocument: (sourceIndex) => store.currentDocument(sourceIndex),
        answered: () => undefined,
        memoryOf: () => ({}),
        confirm: (sourceIndex, version) => {
          this.#judge(version, undefined);
          store.confirm(sourceIndex, version);
        },
      },
      context: {
        logger,
        clock: this.#clock,
        metrics: {
          ...noSyncMetrics,
          nacked: (_source, reason) => this.#blame(`it answered with a nack: ${reason}`),
          speaks: (_source, protocol) => {
            if (protocol !== "bunting.sync.v1") this.#blame(`it fell back to ${protocol}`);
          },
        },
      },
      maxDocumentBytes: budget.maxDocumentBytes,
    });
    this.#running = this.#source.run(this.#stop.signal);
  }

  static async start(topic: TopicKey, history: TopicHistory): Promise<RealAgent> {
    return new RealAgent(topic, history, await TcpSwitch.start());
  }

  connect(replica: Replica): Promise<void> {
    this.#address.setBackends([replica.port]);
    this.#address.cut();
    return Promise.resolve();
  }

  look(): Promise<void> {
    // Time until its next try, if it waits for that.
    if (this.#source.status().state !== "connected") this.advance(500);
    return this.#fault === undefined ? Promise.resolve() : Promise.reject(this.#fault);
  }

  stall(): void {
    // It always reads.
  }

  resume(): void {
    // It always reads.
  }

  hush(): void {
    // It always answers.
  }

  answer(): void {
    // It always answers.
  }

  answerLate(): void {
    // It always answers once.
  }

  lose(): void {
    // It notices by itself.
  }

  advance(ms: number): void {
    this.#clock.advance(Math.min(ms, maxStepMs));
  }

  readonly isLost = false;

  get isAtNewest(): boolean {
    return this.#store.currentDocument(0)?.layout.bytes.toString() === this.#history.last?.text;
  }

  describe(): string {
    return `a real agent that saw ${this.#floor}, ${JSON.stringify(this.#source.status())}`;
  }

  async leave(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#address.close();
    if (this.#clock.pendingTimers > 0) this.#blame("it left a timer");
    if (this.#fault !== undefined) throw this.#fault;
  }

  #deliver({ sourceIndex, bytes, version, isDeletion }: Delivery): DeliveryResult {
    // It holds nothing then, and so can't tell another proxy how far it was.
    if (isDeletion === true) this.#floor = -1;
    else this.#judge(version, bytes);
    return this.#store.replace(sourceIndex, bytes, version);
  }

  #judge(version: DocumentVersion | undefined, bytes: Buffer | undefined): void {
    if (version === undefined) {
      this.#blame("there came a document without its version");
      return;
    }
    try {
      const { index, text } = this.#history.entryOf(buntingSyncV1.Version.decode(version.encoded));
      if (index < this.#floor) this.#blame(`${index} came after ${this.#floor}`);
      if (bytes !== undefined && bytes.toString() !== text) this.#blame(`the bytes of ${index} are others`);
      this.#floor = index;
    } catch (error) {
      this.#fault ??= error as Error;
    }
  }

  #blame(what: string): void {
    this.#fault ??= new Error(what);
  }
}
