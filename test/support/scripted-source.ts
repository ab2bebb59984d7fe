import type { FlagDocument, JsonObject, PastVersion, TopicKey } from "@bunting/protocol";
import { systemClock, type Clock } from "@bunting/runtime";
import type { FlagSource, SourceSink, SourceVersion } from "@bunting/proxy/internal/source/flag-source.js";

/** The version of the document's object. Default: resourceVersion counts up, and there is no uid. */
export type ScriptedVersion = Pick<
  SourceVersion,
  "uid" | "generation" | "resourceVersion" | "readers" | "trial"
> & {
  readonly provider?: JsonObject | undefined;
};

interface Watch {
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
}

/**
 * A source for tests of the stages after it: it emits what a test tells it to, and nothing by itself unless `isAnswering`. It fulfils the
 * contract of FlagSource, and fails if its user breaks that contract.
 */
export class ScriptedSource implements FlagSource {
  readonly name = "scripted source";
  hasSynced = true;
  /** How often each topic was watched so far. */
  readonly watchCounts = new Map<TopicKey, number>();
  /** From where each topic was asked for last. */
  readonly peers = new Map<TopicKey, unknown>();
  readonly refreshes: { readonly topic: TopicKey; readonly done: () => void }[] = [];
  readonly #watches = new Map<TopicKey, Watch>();
  readonly #versions = new Map<TopicKey, ScriptedVersion | undefined>();
  readonly #existing = new Map<TopicKey, FlagDocument>();
  readonly #clock: Clock;
  readonly #isAnswering: boolean;
  #resourceVersion = 0;

  /** @param isAnswering whether a new watch learns at once whether its document exists, as from a source that has synced. */
  constructor(clock: Clock = systemClock, isAnswering = true) {
    this.#clock = clock;
    this.#isAnswering = isAnswering;
  }

  onSynced(listener: () => void): void {
    listener();
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    this.peers.set(topic, peer);
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

  /** @param history of the document, as the source claims; it is told once */
  publish(
    topic: TopicKey,
    document: FlagDocument,
    version?: ScriptedVersion,
    history?: readonly PastVersion[],
  ): void {
    this.#existing.set(topic, document);
    this.#versions.set(topic, version);
    this.#tellDocument(this.#watches.get(topic), document, version, history);
  }

  /** As if the document were new. */
  offerAgain(topic: TopicKey, done: () => void): void {
    const watch = this.#watches.get(topic);
    if (watch !== undefined) this.#answer(topic, watch);
    done();
  }

  /** Records in `refreshes` that a topic is to be read again; the test says when that is done. */
  refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    this.peers.set(topic, peer);
    this.refreshes.push({ topic, done });
    return () => undefined;
  }

  /** Repeats to the watch of a topic whether its document exists, and the document. */
  repeat(topic: TopicKey): void {
    const watch = this.#watches.get(topic);
    if (watch !== undefined) this.#answer(topic, watch);
  }

  /** The object has a new version of the same document. */
  renew(topic: TopicKey, resourceVersion: string): void {
    const version = { noticedMs: this.#clock.monotonicMs(), resourceVersion };
    this.#watches.get(topic)?.sink.report({ kind: "sameDocument", version });
  }

  delete(topic: TopicKey): void {
    this.#existing.delete(topic);
    this.#watches.get(topic)?.sink.report({ kind: "deleted" });
  }

  missing(topic: TopicKey): void {
    this.#watches.get(topic)?.sink.report({ kind: "missing" });
  }

  stale(topic: TopicKey, reason: Error): void {
    this.#watches.get(topic)?.sink.report({ kind: "stale", reason });
  }

  #answer(topic: TopicKey, watch: Watch): void {
    if (watch.signal.aborted) return;
    const document = this.#existing.get(topic);
    if (document === undefined) watch.sink.report({ kind: "missing" });
    else this.#tellDocument(watch, document, this.#versions.get(topic));
  }

  #tellDocument(
    watch: Watch | undefined,
    document: FlagDocument,
    version?: ScriptedVersion,
    history?: readonly PastVersion[],
  ): void {
    this.#resourceVersion++;
    const resourceVersion = String(this.#resourceVersion);
    const noticedMs = this.#clock.monotonicMs();
    const { provider, ...fields } = version ?? {};
    const told = { noticedMs, resourceVersion, ...fields };
    const report = { kind: "document", document, version: told, history } as const;
    watch?.sink.report(provider === undefined ? report : { ...report, provider });
  }
}
