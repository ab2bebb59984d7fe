import type { Readers, TopicKey } from "@bunting/protocol";
import type { FlagSource, ListPeer, SourceFlags, SourceListName, SourceSink } from "../flag-source.js";
import { Synced } from "../synced.js";
import type { BackplaneSourceOptions } from "./backplane-source-options.js";
import type { ReplicatedTopics } from "./replicated-topics.js";

interface Early {
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
  readonly peer: unknown;
}

/** Shares another source among replicas through Redis: one of them watches for all, and the others follow it. */
export class BackplaneSource implements FlagSource {
  readonly name = "source";
  readonly #options: BackplaneSourceOptions;
  readonly #synced = new Synced();
  /** Watches that were asked for before the client of Redis was loaded. */
  readonly #early = new Map<TopicKey, Early>();
  readonly #earlyRefreshes = new Set<(topics: ReplicatedTopics) => void>();
  #topics: ReplicatedTopics | undefined;

  constructor(options: BackplaneSourceOptions) {
    this.#options = options;
    options.source.onSynced(() => this.#synced.reached());
  }

  /** True once the source has synced, or Redis has answered: its records are what other replicas have read. */
  get hasSynced(): boolean {
    return this.#synced.hasSynced;
  }

  onSynced(listener: () => void): void {
    this.#synced.onSynced(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
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
    const sharing = new AbortController();
    const stop = (): void => sharing.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      await Promise.all([this.#options.source.run(signal).finally(stop), topics.run(sharing.signal)]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
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

  refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
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

  followList(list: SourceListName, listener: (flags: SourceFlags) => void, peer?: ListPeer): () => void {
    return this.#options.source.followList?.(list, listener, peer) ?? (() => undefined);
  }

  readersOf(topic: TopicKey): Readers | undefined | "unknown" {
    return this.#options.source.readersOf?.(topic);
  }
}
