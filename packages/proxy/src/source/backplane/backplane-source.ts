import type { TopicKey } from "@bunting/protocol";
import { untilAny } from "@bunting/runtime";
import type { SourceSink } from "../flag-source.js";
import { Synced } from "../synced.js";
import { WrappingSource } from "../wrapping-source.js";
import type { BackplaneSourceOptions } from "./backplane-source-options.js";
import type { ReplicatedTopics } from "./replicated-topics.js";

/** Shares another source among replicas through Redis: one of them watches for all, and the others follow it. */
export class BackplaneSource extends WrappingSource {
  readonly #options: BackplaneSourceOptions;
  readonly #synced = new Synced();
  /** Settles once the client of Redis is loaded: what is asked for before waits until then. */
  readonly #topics: Promise<ReplicatedTopics>;
  #loaded: (topics: ReplicatedTopics) => void = () => undefined;

  constructor(options: BackplaneSourceOptions) {
    super(options.source);
    this.#options = options;
    this.#topics = new Promise((resolve) => (this.#loaded = resolve));
    options.source.onSynced(() => this.#synced.reached());
  }

  /** True once the source has synced, or Redis has answered: its records are what other replicas have read. */
  override get hasSynced(): boolean {
    return this.#synced.hasSynced;
  }

  override onSynced(listener: () => void): void {
    this.#synced.onSynced(listener);
  }

  override async run(signal: AbortSignal): Promise<void> {
    // Imported here because no other source needs the client of Redis.
    const { ReplicatedTopics } = await import("./replicated-topics.js");
    const topics = new ReplicatedTopics({ ...this.#options, onReached: () => this.#synced.reached() });
    this.#loaded(topics);
    // The source runs until the lease was given back; a failure of the source ends both.
    const ended = new AbortController();
    const source = super.run(signal).finally(() => ended.abort());
    await Promise.all([source, untilAny([signal, ended.signal], (until) => topics.run(until))]);
  }

  override watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    void this.#topics.then((topics) => topics.watch(topic, sink, signal, peer));
  }

  override refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    let isCancelled = false;
    let cancel = (): void => void (isCancelled = true);
    void this.#topics.then((topics) => {
      if (!isCancelled) cancel = topics.refresh(topic, done, peer);
    });
    return () => cancel();
  }

  /** A followed topic is told again from its record in Redis: the source below does not watch it. */
  override offerAgain(topic: TopicKey, done: () => void): void {
    void this.#topics.then((topics) => {
      if (topics.offerAgain(topic)) done();
      else super.offerAgain(topic, done);
    });
  }
}
