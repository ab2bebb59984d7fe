import { FlagStore } from "@bunting/agent/internal/store/flag-store.js";
import { HeapBudget } from "@bunting/agent/internal/store/heap-budget.js";
import { noStoreMetrics } from "@bunting/agent/internal/store/store-metrics.fixture.js";
import { createSyncSource } from "@bunting/agent/internal/sync/create-source.fixture.js";
import { parseSources } from "@bunting/agent/internal/sync/parse-sources.js";
import { noSyncMetrics } from "@bunting/agent/internal/sync/sync-metrics.fixture.js";
import { createLogger, systemClock } from "@bunting/runtime";
import { FaultProxy } from "../../support/fault-proxy.js";
import { empty, versionFlag } from "./version-flags.js";

/** The source and the store of a real agent, wired as in the agent, with a way of its own to the replicas. */
export class ModelAgent {
  readonly topic: string;
  readonly way: FaultProxy;
  /** The versions that it has had, in order. */
  readonly seen: string[] = [];
  /**
   * Those that have to be in the order of history: all but what it had before a deletion and was given back where it moved to after that. It holds
   * no version then, and the replica may not have noticed: see "Never backwards" in docs/bunting-sync-v1.md.
   */
  readonly ordered: string[] = [];
  #hasMovedWithout = false;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(topic: string, way: FaultProxy) {
    this.topic = topic;
    this.way = way;
    const uri = `127.0.0.1:${way.port}`;
    const [config] = parseSources({
      uris: [],
      sources: JSON.stringify([{ uri, provider: "grpc", selector: topic }]),
    });
    if (config === undefined) throw new Error("there is one source");
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const budget = new HeapBudget();
    const store = new FlagStore({ sources: [config], budget, context: { logger, metrics: noStoreMetrics } });
    store.onChange(() => {
      const version = store.flag("", versionFlag)?.variants.get("v");
      const now = version === undefined ? empty : JSON.stringify(version);
      if (this.seen.at(-1) !== now) this.#add(now);
    });
    const source = createSyncSource(config, {
      receiver: {
        deliver: ({ sourceIndex, bytes, version }) => store.replace(sourceIndex, bytes, version),
        currentDocument: (sourceIndex) => store.currentDocument(sourceIndex),
        answered: () => undefined,
        memoryOf: () => ({}),
        confirm: (sourceIndex, version) => store.confirm(sourceIndex, version),
      },
      context: { logger, clock: systemClock, metrics: noSyncMetrics },
      maxDocumentBytes: budget.maxDocumentBytes,
    });
    this.#running = source.run(this.#stop.signal);
  }

  /** @param port of the replica that it begins with. */
  static async start(topic: string, port: number): Promise<ModelAgent> {
    return new ModelAgent(topic, await FaultProxy.start(port));
  }

  /** From now on it reaches another replica, as behind a Service after its connection broke. */
  moveTo(port: number): void {
    this.way.setTarget(port);
    if (this.seen.at(-1) === empty) this.#hasMovedWithout = true;
    this.way.cut();
  }

  #add(now: string): void {
    const isGivenBack = this.#hasMovedWithout && now !== empty && this.seen.includes(now);
    this.#hasMovedWithout &&= isGivenBack || now === empty;
    this.seen.push(now);
    if (!isGivenBack && this.ordered.at(-1) !== now) this.ordered.push(now);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.way.blackhole(false);
    await this.#running;
    await this.way.close();
  }
}
