import type { FlagDocument, TopicKey } from "@bunting/protocol";
import type { SourceSink } from "../flag-source.js";
import type { TopicClaims } from "./topic-claims.js";

/** What a sink was told last. */
interface Watch {
  readonly sink: SourceSink;
  document: FlagDocument | undefined;
  absence: "missing" | "deleted" | undefined;
  error: Error | undefined;
}

/**
 * Tells each topic's sink what the claims say, and only what changed. Nothing is queued: a sink that begins late gets what holds now.
 */
export class TopicWatches {
  readonly #claims: TopicClaims;
  readonly #isAbsentWhileLost: boolean;
  readonly #watches = new Map<TopicKey, Watch>();
  #hasSynced = false;
  #lost: Error | undefined;

  /** `isAbsentWhileLost`: what was never there is missing even while the directory can't be read. */
  constructor(claims: TopicClaims, isAbsentWhileLost: boolean) {
    this.#claims = claims;
    this.#isAbsentWhileLost = isAbsentWhileLost;
  }

  open(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    if (signal.aborted) return;
    const watch: Watch = { sink, document: undefined, absence: undefined, error: undefined };
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

  /** Everything was read once: what has no claim is missing. */
  sync(): void {
    this.#hasSynced = true;
    this.#refreshAll();
  }

  /** Why the directory can't be read; undefined once it can be again. */
  setLost(error: Error | undefined): void {
    this.#lost = error;
    this.#refreshAll();
  }

  #refreshAll(): void {
    for (const [topic, watch] of [...this.#watches]) this.#tell(topic, watch);
  }

  #tell(topic: TopicKey, watch: Watch): void {
    const claim = this.#claims.served(topic);
    const error = this.#lost ?? claim?.error;
    const isRecovered = watch.error !== undefined && error === undefined;
    const absence = claim === undefined ? this.#absence(topic) : undefined;
    const told = { ...watch };
    watch.error = absence === "missing" ? undefined : error;
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
    if (watch.error !== undefined && watch.error !== told.error) watch.sink.stale(watch.error);
  }

  /** What a topic without a claim is; undefined if that is not known. */
  #absence(topic: TopicKey): "missing" | "deleted" | undefined {
    const wasServed = this.#claims.wasServed(topic);
    if (this.#lost !== undefined) return this.#isAbsentWhileLost && !wasServed ? "missing" : undefined;
    if (!this.#hasSynced) return undefined;
    return wasServed ? "deleted" : "missing";
  }
}
