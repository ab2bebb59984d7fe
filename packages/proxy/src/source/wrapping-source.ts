import type { Readers, TopicKey } from "@bunting/protocol";
import type { FlagSource, ListPeer, SourceFlags, SourceListName, SourceSink } from "./flag-source.js";

/** A source around another one, which does whatever a subclass does not do itself. */
export abstract class WrappingSource implements FlagSource {
  readonly name = "source";
  protected readonly source: FlagSource;

  constructor(source: FlagSource) {
    this.source = source;
  }

  get hasSynced(): boolean {
    return this.source.hasSynced;
  }

  get hasCopies(): boolean {
    return this.source.hasCopies === true;
  }

  onSynced(listener: () => void): void {
    this.source.onSynced(listener);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.source.run(signal);
  }

  abstract watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void;

  refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    if (this.source.refresh !== undefined) return this.source.refresh(topic, done, peer);
    // A source without refresh is always current.
    done();
    return () => undefined;
  }

  offerAgain(topic: TopicKey, done: () => void): void {
    this.source.offerAgain(topic, done);
  }

  followList(list: SourceListName, listener: (flags: SourceFlags) => void, peer?: ListPeer): () => void {
    return this.source.followList?.(list, listener, peer) ?? (() => undefined);
  }

  readersOf(topic: TopicKey): Readers | undefined | "unknown" {
    return this.source.readersOf?.(topic);
  }
}
