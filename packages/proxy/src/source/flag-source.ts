import type {
  CompiledSourceList,
  FlagDocument,
  JsonObject,
  PastVersion,
  Readers,
  TopicKey,
  TrialCounts,
} from "@bunting/protocol";
import type { RemoteReport } from "@bunting/remote";
import type { Runnable } from "@bunting/runtime";
import type { Trial } from "./trial.js";

/**
 * The source of flag documents: a cluster (`KubernetesSource`), a directory (`DirectorySource`) or other proxies
 * (`UpstreamSource`). Others wrap one of these: `BackplaneSource` shares it with other replicas, `CachedSource` keeps copies
 * on disk, and `RoutedSource` adds single files (`FileSelectorSource`). A topic watches its key, and its sink receives the
 * present state and every change.
 */
export interface FlagSource extends Runnable {
  /** True once the source has read everything for the first time: what it has not found by then is missing. */
  readonly hasSynced: boolean;
  /** True if there are copies on disk to serve until then. A source without this has none. */
  readonly hasCopies?: boolean;
  /** Called once, when `hasSynced` becomes true, at once if it is; and when `hasCopies` does. */
  onSynced(listener: () => void): void;
  /**
   * Reports the topic to the sink until the signal aborts. Reports come in order, never from within this call, and the
   * first comes as soon as the source knows whether the document exists. Only one watch per topic is open at a time.
   *
   * @param peer identity of the peer that asks, for fairness where topics that may not exist have to wait
   */
  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void;
  /**
   * Reads a watched topic consistently again, because a peer knows of a newer version than the sink has received. `done` is
   * called once, after the sink has received the result of a read that began after this call. It is not called if the
   * topic's watch is aborted first, or the returned function called. Reads are rate-limited, and peers are served in turn.
   * A source without refresh is always current.
   *
   * @param peer identity of the peer that asks, for fairness
   */
  refresh?(topic: TopicKey, done: () => void, peer?: unknown): () => void;
  /**
   * Reports the newest version of a watched topic again, which its sink has refused for want of memory, and calls `done` when it has, or knows that it will
   * not; at once if it does not watch the topic; perhaps never, if the watch is aborted before.
   */
  offerAgain(topic: TopicKey, done: () => void): void;
  /**
   * The readers that a FeatureFlag's annotation names. Undefined if it is not shared, or does not exist; `unknown` until the
   * source knows. It never causes a read, because peers may ask for any name. A source without this method shares nothing.
   */
  readersOf?(topic: TopicKey): Readers | undefined | "unknown";
  /** What is known of a watched FeatureFlag's remote; undefined if it names none. A source without this method serves no remotes. */
  remoteOf?(topic: TopicKey): RemoteReport | undefined;
  /**
   * Reports which FeatureFlags the operator has compiled of FeatureFlagSources for Pods of a namespace with this text, as soon as that is known,
   * and on each change, but never from within this call. Returns a function that ends it. A source without this method knows none.
   *
   * @param peer identity of the peer that asks, for fairness
   */
  followList?(list: SourceListName, listener: (flags: SourceFlags) => void, peer?: ListPeer): () => void;
}

/** Who follows a list. */
export interface ListPeer {
  readonly remoteAddress: string;
}

/** Names what the operator has compiled of FeatureFlagSources for some Pods. */
export type SourceListName = Pick<CompiledSourceList, "namespace" | "text">;

/** The FeatureFlags that sources have. */
export type SourceFlags = Pick<CompiledSourceList, "topics" | "frame">;

/** Receives the reports of a source about one topic. */
export interface SourceSink {
  /** The known versions before the last document, from earlier reports. Absent if the sink keeps none. */
  readonly history?: readonly PastVersion[] | undefined;
  /** The flags of the last document, for those that a later one has in a form that can't be served. Absent if the sink keeps none. */
  flags?(): JsonObject | undefined;
  /** How the version of the last report's `trial` fares with agents. Undefined without one; absent if the sink has no agents. */
  trialCounts?(): TrialCounts | undefined;
  /**
   * @throws if a document can't be encoded, or there is no memory for it; the topic is then unchanged, but for what `isRefusedTrial`, and the source
   * reports it as stale for that reason
   */
  report(report: SourceReport): void;
}

/** The newest document. If it equals the last one, the topic drops it. */
export interface DocumentReport {
  readonly kind: "document";
  readonly document: FlagDocument;
  readonly version: SourceVersion;
  /** The versions before it, as far as the source knows them. They may be wrong: only the size of deltas may depend on them. */
  readonly history?: readonly PastVersion[] | undefined;
  /** The FeatureFlag's `spec.remoteFlagProvider`, unchecked; absent without one. */
  readonly provider?: JsonObject | undefined;
}

/** There is no document. The last one stays in force until the deletion policy says otherwise. */
export interface AbsenceReport {
  /** `missing`: a consistent read found none, and this source never had one. */
  readonly kind: "missing" | "deleted";
  /** The policy to apply at once, because the source has waited for the grace already; absent: the topic applies its own after its grace. */
  readonly applied?: "keep" | "empty" | "close";
}

/**
 * The state of a topic. `sameDocument`: the object has a new version with the same document, by an edit of metadata or status. `stale`: the
 * source can't follow changes for now, or the document is invalid; the last state stays in force.
 */
export type SourceReport =
  | DocumentReport
  | { readonly kind: "sameDocument"; readonly version: SourceVersion }
  | AbsenceReport
  | { readonly kind: "stale"; readonly reason: Error };

/** Which version of its object a document is. Fields that the kind of source does not know are absent. */
export interface SourceVersion {
  /** When the source noticed the change, in ms of the monotonic clock: the start of the propagation time. */
  readonly noticedMs: number;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  /** The document comes from a copy that the source has not confirmed since this process started; absent otherwise. */
  readonly isUnconfirmed?: true;
  /** The readers that this version of the object names; empty without any. Absent if the source reports none with versions. */
  readonly readers?: Readers;
  /** The object has a newer document, which only some agents are to have yet; absent otherwise. */
  readonly trial?: Trial;
}
