import { ClusterWatches, type ConnectedCluster, type KubeClient, type ReflectorMetrics } from "@bunting/kube";
import { featureFlagType, type Readers, type TopicKey } from "@bunting/protocol";
import { Backoff, isAborted, sleep, type Context } from "@bunting/runtime";
import type { FlagSource, ListPeer, SourceFlags, SourceListName, SourceSink } from "../flag-source.js";
import type { SourceMetrics } from "../source-metrics.js";
import { Synced } from "../synced.js";
import { FlagRecord } from "./flag-record.js";
import { KubernetesLog } from "./kubernetes-log.js";
import { usualLimits, type Planning } from "./plan-watches.js";
import { ReaderIndex } from "./reader-index.js";
import { RecordIndex } from "./record-index.js";
import { ScopeReviews } from "./scope-reviews.js";
import { SourceLists } from "./source-lists.js";
import type { WatchShared } from "./scope-watch.js";
import type { WatchCounts } from "./watch-metrics.js";
import { WatchTopology } from "./watch-topology.js";

/** A cluster, with what of its client is needed. */
export type Cluster = Omit<ConnectedCluster, "client"> & { readonly client: KubeClient };

export interface KubernetesSourceOptions {
  /** Prepares the connection to the cluster. Called once, by `run`, which rejects if this rejects. */
  readonly connect: () => Promise<Cluster>;
  readonly planning: Planning;
  /** Also watches the readers that FeatureFlags name, by one more watch; default false. */
  readonly readsReaders?: boolean;
  /** Shortest time for which the API server is asked to keep a watch open, in s; the longest is twice that. */
  readonly timeoutSeconds: number;
  /** Time for which a watch may be down before its FeatureFlags are stale, in ms; default 5 s. */
  readonly staleAfterMs?: number;
  readonly context: Context<SourceMetrics>;
}

const usualStaleAfterMs = 5_000;

/** Rate of reads of names that turn out not to exist, or are left before that is known; the burst is `maxAbsent`. */
const speculativePerSecond = 32;

/** Serves the FeatureFlags of a cluster, with as few watches as possible and no more permissions than the stock operator grants. */
export class KubernetesSource extends Synced implements FlagSource {
  readonly name = "source";
  readonly #options: KubernetesSourceOptions;
  readonly #log: KubernetesLog;
  readonly #records = new RecordIndex();
  #topology: WatchTopology | undefined;
  #readers: ReaderIndex | undefined;
  readonly #lists: SourceLists;

  constructor(options: KubernetesSourceOptions) {
    super();
    this.#options = options;
    this.#log = new KubernetesLog(
      options.context.logger,
      options.context.metrics,
      options.context.clock,
      options.planning.watchScope,
    );
    this.#lists = new SourceLists({ context: options.context });
    options.context.metrics.watchCounts(() => this.#watchCounts());
  }

  async run(signal: AbortSignal): Promise<void> {
    const { context, planning, timeoutSeconds, staleAfterMs = usualStaleAfterMs } = this.#options;
    const limits = { ...usualLimits, ...this.#options.planning.limits };
    const { client, connections, server } = await this.#options.connect();
    context.logger.info({ server, watchScope: planning.watchScope }, "watching FeatureFlags in the cluster");
    const watching = {
      client,
      context: { ...context, metrics: this.#reflectorMetrics() },
      timeoutSeconds,
      speculative: { burst: limits.maxAbsent, perSecond: speculativePerSecond },
    };
    const watches = new ClusterWatches(watching);
    // With an admission of their own: where Injections are missing or forbidden, FeatureFlags are watched as ever.
    this.#lists.begin(new ClusterWatches(watching), signal);
    const shared: WatchShared = { watches, context, staleAfterMs };
    const reviews = new ScopeReviews({ client, context, onChange: () => this.#topology?.ask() });
    reviews.start(signal);
    const topology = new WatchTopology({
      records: this.#records,
      planning,
      shared,
      reviews,
      log: this.#log,
      // Once the API server has answered: from then on topics are read one by one as they are subscribed to.
      onSynced: () => this.reached(),
    });
    this.#topology = topology;
    if (this.#options.readsReaders === true) this.#readers = new ReaderIndex(shared);
    try {
      await Promise.all([
        connections.run(signal),
        topology.run(signal),
        this.#readers?.run(signal),
        this.#contact(client, signal),
      ]);
    } finally {
      this.#topology = undefined;
      this.#log.stop();
    }
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    if (signal.aborted) return;
    const { clock } = this.#options.context;
    const onChange = (changed: FlagRecord): void => this.#topology?.changed(changed);
    const record = new FlagRecord({ topic, sink, peer, clock, log: this.#log, onChange });
    this.#records.add(record);
    this.#topology?.add(record);
    signal.addEventListener(
      "abort",
      () => {
        this.#records.delete(record);
        this.#topology?.remove(record);
      },
      { once: true },
    );
  }

  refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    const record = this.#records.get(topic);
    if (record === undefined) return () => undefined;
    return this.#topology?.refresh(record, done, peer) ?? record.awaitRead(done);
  }

  offerAgain(topic: TopicKey, done: () => void): void {
    const record = this.#records.get(topic);
    record?.offerAgain();
    if (record === undefined) done();
    else this.refresh(topic, done);
  }

  readersOf(topic: TopicKey): Readers | undefined | "unknown" {
    if (this.#options.readsReaders !== true) return undefined;
    return this.#readers?.readersOf(topic) ?? (this.#readers === undefined ? "unknown" : undefined);
  }

  followList(list: SourceListName, listener: (flags: SourceFlags) => void, peer?: ListPeer): () => void {
    return this.#lists.follow(list, listener, peer);
  }

  /** Sends a request that every account may send, until the API server answers. */
  async #contact(client: KubeClient, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.context;
    const backoff = new Backoff({ firstMs: 500, capMs: 10_000 });
    while (!signal.aborted && !this.hasSynced) {
      try {
        await client.isAllowed("watch", { type: featureFlagType }, signal);
        this.#log.reached();
        this.reached();
      } catch (error) {
        if (isAborted(signal)) return;
        this.#log.unreached(error, () => this.hasSynced);
        await sleep(backoff.next(), signal, clock);
      }
    }
  }

  #reflectorMetrics(): ReflectorMetrics {
    const { metrics } = this.#options.context;
    return {
      relist: (reason) => metrics.relisted(reason),
      event: (type) => metrics.watchEvent(type),
      error: (error) => metrics.sourceError(error.code.toLowerCase()),
    };
  }

  #watchCounts(): WatchCounts {
    const open = { object: 0, namespace: 0, cluster: 0 };
    let oldestMs = 0;
    let silentMs = 0;
    for (const { kind, watch } of this.#topology?.watches() ?? []) {
      if (watch === undefined) continue;
      open[kind]++;
      oldestMs = Math.max(oldestMs, watch.ageMs);
      silentMs = Math.max(silentMs, watch.silenceMs);
    }
    const { unwatched = 0, waiting = 0 } = this.#topology ?? {};
    return { open, oldestMs, silentMs, unwatched, waiting };
  }
}
