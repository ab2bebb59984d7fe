import type { FlagDocument, TopicKey } from "@bunting/protocol";
import type { SourceSink } from "../flag-source.js";
import type { TopicClaims } from "./topic-claims.js";

/** What a sink was told last. */
interface Watch {
  readonly sink: SourceSink;
  document: FlagDocument | undefined;
  absence: "missing" | "deleted" | undefined;
  trouble: Error | undefined;
}

/**
 * Tells each topic's sink what the claims say, and only what it was not told yet. Nothing is queued: a sink that begins late, or that
 * is told late, gets what holds now.
 */
export class TopicWatches {
  readonly #claims: TopicClaims;
  readonly #isAbsentWhileLost: boolean;
  readonly #watches = new Map<TopicKey, Watch>();
  #hasSynced = false;
  #lost: Error | undefined;

  /** `isAbsentWhileLost`: what was never there is missing even while nothing can be read. */
  constructor(claims: TopicClaims, isAbsentWhileLost: boolean) {
    this.#claims = claims;
    this.#isAbsentWhileLost = isAbsentWhileLost;
  }

  open(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    if (signal.aborted) return;
    const watch: Watch = { sink, document: undefined, absence: undefined, trouble: undefined };
    const close = (): void => {
      if (this.#watches.get(topic) === watch) this.#watches.delete(topic);
    };
    signal.addEventListener("abort", close, { once: true });
    queueMicrotask(() => {
      if (signal.aborted) return;
      this.#watches.set(topic, watch);
      this.#tell(topic, watch);
    });
  }

  /** The claims on the topic changed. */
  refresh(topic: TopicKey): void {
    const watch = this.#watches.get(topic);
    if (watch !== undefined) this.#tell(topic, watch);
  }

  /** All was read once: what has no claim is missing. */
  sync(): void {
    this.#hasSynced = true;
    this.#refreshAll();
  }

  /** Nothing can be read for now; undefined once it can be again. */
  setLost(error: Error | undefined): void {
    this.#lost = error;
    this.#refreshAll();
  }

  #refreshAll(): void {
    for (const [topic, watch] of [...this.#watches]) this.#tell(topic, watch);
  }

  #tell(topic: TopicKey, watch: Watch): void {
    const claim = this.#claims.served(topic);
    const trouble = this.#lost ?? claim?.trouble;
    const isRecovered = watch.trouble !== undefined && trouble === undefined;
    const absence = claim === undefined ? this.#absence(topic) : undefined;
    const told = { ...watch };
    watch.trouble = absence === "missing" ? undefined : trouble;
    if (claim?.document !== undefined) {
      const { document, noticedMs } = claim;
      watch.document = document;
      watch.absence = undefined;
      if (document !== told.document || isRecovered) watch.sink.document(document, { noticedMs });
    } else if (absence !== undefined) {
      watch.document = undefined;
      watch.absence = absence;
      if (absence !== told.absence || isRecovered) watch.sink[absence]();
    }
    if (watch.trouble !== undefined && watch.trouble !== told.trouble) watch.sink.stale(watch.trouble);
  }

  /** What is to be told of a topic that nobody claims; undefined if nobody can know. */
  #absence(topic: TopicKey): "missing" | "deleted" | undefined {
    const wasServed = this.#claims.wasServed(topic);
    if (this.#lost !== undefined) return this.#isAbsentWhileLost && !wasServed ? "missing" : undefined;
    if (!this.#hasSynced) return undefined;
    return wasServed ? "deleted" : "missing";
  }
}
