import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { systemClock, type Clock } from "@bunting/runtime";
import type { FlagSource, SourceSink, SourceVersion } from "@bunting/proxy/internal/source/flag-source.js";

/** Which version of its object a document is said to be; else its resourceVersion counts up, and it has no uid. */
export type ScriptedVersion = Pick<SourceVersion, "uid" | "generation" | "resourceVersion">;

interface Watch {
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
}

/**
 * A source of events for tests of what comes after it: says what a test tells it to say, and nothing by itself unless it was told
 * to answer. It keeps the promises of FlagSource, and fails where its user breaks one.
 */
export class ScriptedSource implements FlagSource {
  readonly name = "scripted source";
  hasSynced = true;
  /** How often each topic was watched so far. */
  readonly watchCounts = new Map<TopicKey, number>();
  readonly refreshes: { readonly topic: TopicKey; readonly done: () => void }[] = [];
  readonly #watches = new Map<TopicKey, Watch>();
  readonly #versions = new Map<TopicKey, ScriptedVersion | undefined>();
  readonly #existing = new Map<TopicKey, FlagDocument>();
  readonly #clock: Clock;
  readonly #isAnswering: boolean;
  #resourceVersion = 0;

  /** @param isAnswering whether a new watch is told at once whether its document exists, as a source that has synced does. */
  constructor(clock: Clock = systemClock, isAnswering = true) {
    this.#clock = clock;
    this.#isAnswering = isAnswering;
  }

  onSynced(listener: () => void): void {
    listener();
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    if (this.#watches.has(topic)) throw new Error(`a second watch of ${topic} was opened beside the first`);
    const watch = { sink, signal };
    this.#watches.set(topic, watch);
    this.watchCounts.set(topic, (this.watchCounts.get(topic) ?? 0) + 1);
    signal.addEventListener("abort", () => this.#watches.delete(topic), { once: true });
    if (this.#isAnswering) queueMicrotask(() => this.#answer(topic, watch));
  }

  run(): Promise<void> {
    return Promise.resolve();
  }

  /** Open watches. */
  get watchCount(): number {
    return this.#watches.size;
  }

  publish(topic: TopicKey, document: FlagDocument, version?: ScriptedVersion): void {
    this.#existing.set(topic, document);
    this.#versions.set(topic, version);
    this.#tellDocument(this.#watches.get(topic), document, version);
  }

  /** Says in `refreshes` that a topic is to be read again; the test says when that was done. */
  refresh(topic: TopicKey, done: () => void): void {
    this.refreshes.push({ topic, done });
  }

  /** Tells the watch of a topic again whether its document exists, and which it is. */
  repeat(topic: TopicKey): void {
    const watch = this.#watches.get(topic);
    if (watch !== undefined) this.#answer(topic, watch);
  }

  delete(topic: TopicKey): void {
    this.#existing.delete(topic);
    this.#watches.get(topic)?.sink.deleted();
  }

  missing(topic: TopicKey): void {
    this.#watches.get(topic)?.sink.missing();
  }

  stale(topic: TopicKey, reason: Error): void {
    this.#watches.get(topic)?.sink.stale(reason);
  }

  #answer(topic: TopicKey, watch: Watch): void {
    if (watch.signal.aborted) return;
    const document = this.#existing.get(topic);
    if (document === undefined) watch.sink.missing();
    else this.#tellDocument(watch, document, this.#versions.get(topic));
  }

  #tellDocument(watch: Watch | undefined, document: FlagDocument, version?: ScriptedVersion): void {
    this.#resourceVersion++;
    const resourceVersion = String(this.#resourceVersion);
    watch?.sink.document(document, { noticedMs: this.#clock.monotonicMs(), resourceVersion, ...version });
  }
}
