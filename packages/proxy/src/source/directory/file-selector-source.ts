import { basename, dirname } from "node:path";
import type { TopicKey } from "@bunting/protocol";
import { aborted, untilAny } from "@bunting/runtime";
import type { FlagSource, SourceSink } from "../flag-source.js";
import { keepUntil } from "../keep-until.js";
import { filePathOf } from "../selector.js";
import { DirectorySource, type DirectorySourceOptions } from "./directory-source.js";

/**
 * Serves single files, each as a topic of its own, for selectors of the form `file:PATH`. A file is watched, by way of its directory,
 * for as long as its topic is.
 */
export class FileSelectorSource implements FlagSource {
  readonly name = "file selectors";
  /** Files are read when their topics are watched. */
  readonly hasSynced = true;
  readonly #options: Omit<DirectorySourceOptions, "path" | "only">;
  /** Sources of the files that are watched, by topic. */
  readonly #sources = new Map<TopicKey, DirectorySource>();
  readonly #running = new Set<Promise<void>>();
  #begin: (signal: AbortSignal) => void = () => undefined;
  /** The signal of `run`. Watches may be opened before it. */
  readonly #begun = new Promise<AbortSignal>((resolve) => (this.#begin = resolve));

  constructor(options: Omit<DirectorySourceOptions, "path" | "only">) {
    this.#options = options;
  }

  onSynced(listener: () => void): void {
    listener();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#begin(signal);
    await aborted(signal);
    await Promise.all(this.#running);
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    const path = filePathOf(topic);
    if (path === undefined || signal.aborted) return;
    const source = new DirectorySource({
      ...this.#options,
      path: dirname(path),
      only: { fileName: basename(path), topic },
    });
    keepUntil(signal, this.#sources, [topic, source]);
    source.watch(topic, sink, signal);
    void this.#begun.then((whole) => {
      const running = untilAny([whole, signal], (until) => source.run(until)).finally(() =>
        this.#running.delete(running),
      );
      this.#running.add(running);
    });
  }

  offerAgain(topic: TopicKey, done: () => void): void {
    const source = this.#sources.get(topic);
    if (source === undefined) done();
    else source.offerAgain(topic, done);
  }
}
