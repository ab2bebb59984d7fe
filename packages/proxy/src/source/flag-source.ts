import type { FlagDocument, PastVersion, Readers, TopicKey } from "@bunting/protocol";
import type { Runnable } from "@bunting/runtime";

/**
 * Where flag documents come from: a cluster (`KubernetesSource`), a directory (`DirectorySource`) or other proxies (`UpstreamSource`). Others stand
 * around one of these: `BackplaneSource` shares it with other replicas, `CachedSource` keeps copies of it, and `RoutedSource` puts single files
 * (`FileSelectorSource`) beside it. A topic watches its key, and its sink receives what the source knows and every change of it.
 */
export interface FlagSource extends Runnable {
  /** True once the source has read everything for the first time: what it has not found by then is missing. */
  readonly hasSynced: boolean;
  /** Called once, when `hasSynced` becomes true; at once if it is. */
  onSynced(listener: () => void): void;
  /**
   * Reports the topic to the sink until the signal aborts. Events of one topic come in order, never from within this call, and the
   * first comes as soon as the source knows whether the document exists. Only one watch per topic is open at a time.
   *
   * @param peer where the peer that asks comes from: where the names of topics that may not exist have to wait, peers take turns
   */
  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void;
  /**
   * Reads a watched topic consistently once more, because a peer knows of a newer version than the sink has received. `done` is called
   * once, after the sink has received the result of a read that began after this call; not if the topic's watch is aborted, or the returned
   * function called, first. However often it is called, reads are few, and peers take turns. A source without refresh is always current.
   *
   * @param peer where the peer comes from
   */
  refresh?(topic: TopicKey, done: () => void, peer?: unknown): () => void;
  /**
   * Whom a FeatureFlag is shared with by its annotation, as far as the source knows already: it costs nothing, whatever names peers guess.
   * Undefined if with nobody, as for one that does not exist; `unknown` until that is known. A source without this shares nothing.
   */
  readersOf?(topic: TopicKey): Readers | undefined | "unknown";
}

/** How a topic receives what a source knows. */
export interface SourceSink {
  /** The versions before the document that was given last, as far as the sink knows them: from what it was given, and told. Absent if it keeps none. */
  readonly history?: readonly PastVersion[] | undefined;
  /**
   * The newest document. It may equal the one before; the topic drops it then.
   *
   * @param history the versions before it, as far as the source knows them: it may be wrong, and nothing but the size of deltas may depend on it
   * @throws whatever keeps it from being encoded; the topic is then as it was, and the source calls `stale` with the reason.
   */
  document(document: FlagDocument, version: SourceVersion, history?: readonly PastVersion[]): void;
  /** The object has a new version, but its document is the one that was given last: an edit of metadata or status. */
  sameDocument(version: SourceVersion): void;
  /** A consistent read found no such document, and this source never had one. */
  missing(): void;
  /**
   * The document is gone. The last one stays in force until the topic's deletion policy says otherwise.
   *
   * @param applied the policy that counts from now on, because the source has waited for the grace already; absent: that of the topic, after
   *   its grace
   */
  deleted(applied?: "keep" | "empty" | "close"): void;
  /** The source can't follow changes for now (unreadable file, API server down, invalid document). The last document stays in force. */
  stale(reason: Error): void;
}

/** Which version of its object a document is. Fields that the kind of source does not know are absent. */
export interface SourceVersion {
  /** When the source noticed the change, in ms of the monotonic clock: the start of the propagation time. */
  readonly noticedMs: number;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  /** It is of a copy on disk that the source has not confirmed since this process started; absent otherwise. */
  readonly isUnconfirmed?: true;
}
