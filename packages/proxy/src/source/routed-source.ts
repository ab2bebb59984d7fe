import type { Readers, TopicKey } from "@bunting/protocol";
import type { RemoteReport } from "@bunting/remote";
import type { FlagSource, ListPeer, SourceFlags, SourceListName, SourceSink } from "./flag-source.js";
import { filePathOf } from "./selector.js";

/** Sends topics that are files to one source and all others to another. */
export class RoutedSource implements FlagSource {
  readonly name = "source";
  readonly #main: FlagSource;
  readonly #files: FlagSource;

  constructor(main: FlagSource, files: FlagSource) {
    this.#main = main;
    this.#files = files;
  }

  get hasSynced(): boolean {
    return this.#main.hasSynced;
  }

  get hasCopies(): boolean {
    return this.#main.hasCopies === true;
  }

  onSynced(listener: () => void): void {
    this.#main.onSynced(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#main.run(signal), this.#files.run(signal)]);
  }

  refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    const source = filePathOf(topic) === undefined ? this.#main : this.#files;
    if (source.refresh !== undefined) return source.refresh(topic, done, peer);
    // A source without refresh is always current.
    done();
    return () => undefined;
  }

  followList(list: SourceListName, listener: (flags: SourceFlags) => void, peer?: ListPeer): () => void {
    return this.#main.followList?.(list, listener, peer) ?? (() => undefined);
  }

  readersOf(topic: TopicKey): Readers | undefined | "unknown" {
    return filePathOf(topic) === undefined ? this.#main.readersOf?.(topic) : undefined;
  }

  remoteOf(topic: TopicKey): RemoteReport | undefined {
    return filePathOf(topic) === undefined ? this.#main.remoteOf?.(topic) : undefined;
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    (filePathOf(topic) === undefined ? this.#main : this.#files).watch(topic, sink, signal, peer);
  }
}
