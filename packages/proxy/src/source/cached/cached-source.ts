import type { TopicKey } from "@bunting/protocol";
import { RateLimitedLog, type Context, type DocumentRoom } from "@bunting/runtime";
import type { FlagSource, SourceSink } from "../flag-source.js";
import { keepUntil } from "../keep-until.js";
import type { SourceMetrics } from "../source-metrics.js";
import { Synced } from "../synced.js";
import { WrappingSource } from "../wrapping-source.js";
import { CachedTopic } from "./cached-topic.js";
import { TopicCopies } from "./topic-copies.js";

export interface CachedSourceOptions {
  readonly source: FlagSource;
  /** Name of the source: copies of another source are not read. */
  readonly sourceName: string;
  readonly directory: string;
  /** Limit of all copies on disk, in bytes. */
  readonly maxBytes: number;
  readonly context: Context<SourceMetrics>;
  /** Free heap; that of this process but in tests. */
  readonly room?: Pick<DocumentRoom, "has">;
}

/** Limit of log lines about topics. */
const linesPerMinute = 20;

/** Another source with last-known-good copies on disk, so that the proxy has something to serve if it starts while that source is away. */
export class CachedSource extends WrappingSource {
  readonly #options: CachedSourceOptions;
  readonly #copies: TopicCopies;
  readonly #log: RateLimitedLog;
  /** What earlier processes left has been counted. */
  readonly #counted = new Synced();
  readonly #topics = new Map<TopicKey, CachedTopic>();
  /** Topics of which the copy is served. */
  #unconfirmed = 0;

  constructor(options: CachedSourceOptions) {
    const { source, sourceName, context } = options;
    super(source);
    this.#options = options;
    this.#copies = new TopicCopies({ ...options, source: sourceName });
    this.#log = new RateLimitedLog(context.logger, context.clock);
  }

  override get hasCopies(): boolean {
    return this.#copies.areThere;
  }

  override onSynced(listener: () => void): void {
    super.onSynced(listener);
    this.#counted.onSynced(() => {
      if (this.hasCopies && !this.hasSynced) listener();
    });
  }

  override async run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.all([super.run(signal), this.#copies.begin().then(() => this.#counted.reached())]);
    } finally {
      await this.#copies.flush();
    }
  }

  override watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    if (signal.aborted) return;
    const { clock } = this.#options.context;
    const cached = new CachedTopic({
      topic,
      sink,
      copies: this.#copies,
      clock,
      onServed: (served, reason) => this.#served(served, reason),
      onConfirmed: () => this.#confirmed(),
    });
    keepUntil(signal, this.#topics, [topic, cached], () => cached.close());
    cached.open();
    this.source.watch(topic, cached, signal, peer);
  }

  override refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    const cached = this.#topics.get(topic);
    // A source without refresh is current once it has answered.
    if (this.source.refresh === undefined && cached?.isUnconfirmed === true) return cached.awaitAnswer(done);
    return super.refresh(topic, done, peer);
  }

  override offerAgain(topic: TopicKey, done: () => void): void {
    // The copy may be what was refused; so may a first answer of the source, which is newer.
    const offered = this.#topics.get(topic)?.offerAgain();
    if (offered === undefined) super.offerAgain(topic, done);
    else void offered.then(() => super.offerAgain(topic, done));
  }

  #served(topic: TopicKey, reason: Error): void {
    this.#unconfirmed++;
    this.#options.context.metrics.unconfirmedTopics(1);
    const message = "the source has not answered: the last-known-good copy is served until it does";
    this.#log.warn("served", { topic, reason: reason.message }, message, linesPerMinute);
  }

  #confirmed(): void {
    const { metrics, logger } = this.#options.context;
    this.#unconfirmed--;
    metrics.unconfirmedTopics(-1);
    if (this.#unconfirmed === 0) logger.info("no topic is served from its last-known-good copy any more");
  }
}
