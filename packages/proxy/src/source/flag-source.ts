import type { FlagDocument, TopicKey } from "@bunting/protocol";
import type { Runnable } from "@bunting/runtime";

/**
 * Where flag documents come from. One interface for every kind (`directory`; later `kubernetes`, `upstream`, `redis`): a topic asks
 * for its key and is told, through its sink, what the source knows and every change of it.
 */
export interface FlagSource extends Runnable {
  /** True once the source has read everything it has, for the first time: what is not there then is missing. */
  readonly hasSynced: boolean;
  /** Called once, when `hasSynced` becomes true; at once if it is. */
  onSynced(listener: () => void): void;
  /**
   * Reports the topic to the sink until the signal aborts. Events of one topic come in order, never from within this call, and the
   * first comes as soon as the source knows whether the document exists. Only one watch a topic is open at a time.
   */
  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void;
  /**
   * Reads a watched topic consistently once more, for somebody knows of a newer version than was told. `done` is called once, after the
   * sink was told what a read says that began after this call; not if the topic's watch is aborted first. Absent where there is nothing
   * newer to be had.
   */
  refresh?(topic: TopicKey, done: () => void): void;
}

/** What a source tells a topic. */
export interface SourceSink {
  /** The document is this now. May repeat an equal document: the topic drops it. */
  document(document: FlagDocument, version: SourceVersion): void;
  /** A consistent read says that there is no such document, and this source never had one. */
  missing(): void;
  /** The document is gone: the last one told stands until the topic's deletion policy says otherwise. */
  deleted(): void;
  /** The source can't keep up with the truth for now (unreadable file, API server away); what was told last still stands. */
  stale(reason: Error): void;
}

/** Which version of its object a document is. Fields that a kind of source does not know are absent. */
export interface SourceVersion {
  /** When the source noticed the change, in ms of the monotonic clock: start of the propagation time. */
  readonly noticedMs: number;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
}
