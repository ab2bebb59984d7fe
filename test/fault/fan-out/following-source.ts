import type { TopicKey } from "@bunting/protocol";
import type { FlagSource, SourceSink } from "@bunting/proxy/internal/source/flag-source.js";
import type { Clock } from "@bunting/runtime";
import type { FlagHistory, HistoryEntry } from "./flag-history.js";

interface Watch {
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
}

/**
 * A proxy's source that reports what happens to the FeatureFlags, and may lag: then it reports the changes when it may catch up, or by the
 * next consistent read. A new watch begins with what the source knows, as if a wider watch fed it.
 */
export class FollowingSource implements FlagSource {
  readonly name = "following source";
  readonly hasSynced = true;
  isLagging = false;
  readonly #history: FlagHistory;
  readonly #clock: Clock;
  readonly #watches = new Map<TopicKey, Watch>();
  /** How many entries of each topic's history are known here; all at the start. */
  readonly #positions: Map<TopicKey, number>;
  /** The newest document of each topic that was seen here. A read that finds a FeatureFlag deleted does not show what it was last. */
  readonly #newest = new Map<TopicKey, number>();
  readonly #told = new WeakSet<Watch>();
  readonly #reads: {
    readonly topic: TopicKey;
    readonly watch: Watch | undefined;
    readonly done: () => void;
  }[] = [];

  constructor(history: FlagHistory, clock: Clock) {
    this.#history = history;
    this.#clock = clock;
    this.#positions = new Map([...history.topics].map(([key, { entries }]) => [key, entries.length]));
    for (const [key, { last }] of history.topics)
      if (last?.document !== undefined) this.#newest.set(key, last.index);
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  onSynced(listener: () => void): void {
    listener();
  }

  offerAgain(_topic: TopicKey, done: () => void): void {
    done();
  }

  run(): Promise<void> {
    return Promise.resolve();
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    if (this.#watches.has(topic)) throw new Error(`a second watch of ${topic} was opened beside the first`);
    const watch = { sink, signal };
    this.#watches.set(topic, watch);
    signal.addEventListener("abort", () => this.#watches.delete(topic), { once: true });
    queueMicrotask(() => {
      if (!signal.aborted) this.#tell(watch, this.#history.of(topic).entries[this.positionOf(topic) - 1]);
    });
  }

  refresh(topic: TopicKey, done: () => void): () => void {
    let isWaiting = true;
    const read = (): void => {
      if (isWaiting) done();
    };
    this.#reads.push({ topic, watch: this.#watches.get(topic), done: read });
    return () => {
      isWaiting = false;
    };
  }

  /** How many entries of its history are known here. */
  positionOf(topic: TopicKey): number {
    return this.#positions.get(topic) ?? 0;
  }

  /** The newest document that its topic may have seen; new subscribers may not be served an older one. */
  newestTold(topic: TopicKey): number {
    return this.#newest.get(topic) ?? 0;
  }

  /** Reports all changes since the last call one by one, unless it lags. */
  follow(): void {
    if (this.isLagging) return;
    for (const [topic, { entries }] of this.#history.topics) {
      const news = entries.slice(this.positionOf(topic));
      for (const entry of news) this.#learn(topic, entry, this.#watches.get(topic));
    }
  }

  /** Answers the consistent reads that were asked for, with the newest state only. */
  read(): void {
    for (const { topic, watch, done } of this.#reads.splice(0)) {
      if (watch === undefined || watch.signal.aborted) continue;
      const { last } = this.#history.of(topic);
      if (last !== undefined) this.#learn(topic, last, watch);
      done();
    }
  }

  #learn(topic: TopicKey, entry: HistoryEntry, watch: Watch | undefined): void {
    this.#positions.set(topic, entry.index + 1);
    if (entry.document !== undefined) this.#newest.set(topic, entry.index);
    this.#tell(watch, entry);
  }

  #tell(watch: Watch | undefined, entry: HistoryEntry | undefined): void {
    if (watch === undefined) return;
    if (entry?.document === undefined) {
      // To a watch that is told of nothing else before, there is none.
      const isDeleted = entry !== undefined && this.#told.has(watch);
      watch.sink.report({ kind: isDeleted ? "deleted" : "missing" });
    } else {
      const version = { noticedMs: this.#clock.monotonicMs(), ...entry.version };
      watch.sink.report({ kind: "document", document: entry.document, version });
    }
    this.#told.add(watch);
  }
}
