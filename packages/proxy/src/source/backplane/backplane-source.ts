import type { TopicKey } from "@bunting/protocol";
import { untilAny } from "@bunting/runtime";
import type { SourceSink } from "../flag-source.js";
import { Synced } from "../synced.js";
import { WrappingSource } from "../wrapping-source.js";
import type { BackplaneSourceOptions } from "./backplane-source-options.js";
import type { ReplicatedTopics } from "./replicated-topics.js";

interface Early {
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
  readonly peer: unknown;
}

/** Shares another source among replicas through Redis: one of them watches for all, and the others follow it. */
export class BackplaneSource extends WrappingSource {
  readonly #options: BackplaneSourceOptions;
  readonly #synced = new Synced();
  /** Watches that were asked for before the client of Redis was loaded. */
  readonly #early = new Map<TopicKey, Early>();
  readonly #earlyRefreshes = new Set<(topics: ReplicatedTopics) => void>();
  #topics: ReplicatedTopics | undefined;

  constructor(options: BackplaneSourceOptions) {
    super(options.source);
    this.#options = options;
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
    this.#topics = topics;
    for (const [topic, { sink, signal: leaving, peer }] of this.#early)
      topics.watch(topic, sink, leaving, peer);
    this.#early.clear();
    for (const begin of this.#earlyRefreshes) begin(topics);
    this.#earlyRefreshes.clear();
    // The source runs until the lease was given back; a failure of the source ends both.
    const ended = new AbortController();
    const source = super.run(signal).finally(() => ended.abort());
    await Promise.all([source, untilAny([signal, ended.signal], (until) => topics.run(until))]);
  }

  override watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    if (signal.aborted) return;
    if (this.#topics !== undefined) {
      this.#topics.watch(topic, sink, signal, peer);
      return;
    }
    const early = { sink, signal, peer };
    this.#early.set(topic, early);
    const leave = (): void => {
      if (this.#early.get(topic) === early) this.#early.delete(topic);
    };
    signal.addEventListener("abort", leave, { once: true });
  }

  override refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    let cancel = (): void => undefined;
    const begin = (topics: ReplicatedTopics): void => {
      cancel = topics.refresh(topic, done, peer);
    };
    if (this.#topics === undefined) this.#earlyRefreshes.add(begin);
    else begin(this.#topics);
    return () => {
      this.#earlyRefreshes.delete(begin);
      cancel();
    };
  }

  /** A followed topic is told again from its record in Redis: the source below does not watch it. */
  override offerAgain(topic: TopicKey, done: () => void): void {
    if (this.#topics?.offerAgain(topic) === true) done();
    else super.offerAgain(topic, done);
  }
}
