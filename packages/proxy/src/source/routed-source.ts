import type { Readers, TopicKey } from "@bunting/protocol";
import type { RemoteReport } from "@bunting/remote";
import type { FlagSource, SourceSink } from "./flag-source.js";
import { filePathOf } from "./selector.js";
import { WrappingSource } from "./wrapping-source.js";

/** Sends topics that are files to one source and all others to another. */
export class RoutedSource extends WrappingSource {
  readonly #files: FlagSource;

  constructor(main: FlagSource, files: FlagSource) {
    super(main);
    this.#files = files;
  }

  override async run(signal: AbortSignal): Promise<void> {
    await Promise.all([super.run(signal), this.#files.run(signal)]);
  }

  /** Files are always current. */
  override refresh(topic: TopicKey, done: () => void, peer?: unknown): () => void {
    if (filePathOf(topic) === undefined) return super.refresh(topic, done, peer);
    done();
    return () => undefined;
  }

  override offerAgain(topic: TopicKey, done: () => void): void {
    this.#sourceOf(topic).offerAgain(topic, done);
  }

  override readersOf(topic: TopicKey): Readers | undefined | "unknown" {
    return filePathOf(topic) === undefined ? super.readersOf(topic) : undefined;
  }

  remoteOf(topic: TopicKey): RemoteReport | undefined {
    return filePathOf(topic) === undefined ? this.source.remoteOf?.(topic) : undefined;
  }

  override watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    this.#sourceOf(topic).watch(topic, sink, signal, peer);
  }

  #sourceOf(topic: TopicKey): FlagSource {
    return filePathOf(topic) === undefined ? this.source : this.#files;
  }
}
