import { extname, resolve } from "node:path";
import type { TopicKey } from "@bunting/protocol";
import type { Clock, Logger } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { FileNews } from "../files/file-news.js";
import { FileTree } from "../files/file-tree.js";
import { flagFileExtensions } from "../flag-file-extensions.js";
import type { FlagSource, SourceSink } from "../flag-source.js";
import type { SourceMetrics } from "../source-metrics.js";
import { DirectoryLog } from "./directory-log.js";
import { FlagFiles } from "./flag-files.js";
import { TopicClaims } from "./topic-claims.js";
import { TopicWatches } from "./topic-watches.js";

export interface DirectorySourceOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SourceMetrics;
  /** Serves this one file of the directory, as this topic, and nothing else. */
  readonly only?: { readonly fileName: string; readonly topic: TopicKey };
  /** How often everything is looked at although no event came. */
  readonly rescanEveryMs?: number;
}

/** Larger files are refused: no FeatureFlag in a cluster can have more than a tenth of this. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Serves the FeatureFlags below a directory. The files (files/) say when one is to be read, the manifests (manifest/) what is in it,
 * the claims which file speaks for a topic, and the watches tell the topics.
 */
export class DirectorySource implements FlagSource {
  readonly name = "source";
  readonly #path: string;
  readonly #log: DirectoryLog;
  readonly #tree: FileTree;
  readonly #files: FlagFiles;
  readonly #claims = new TopicClaims((topic) => this.#watches.refresh(topic));
  readonly #watches: TopicWatches;
  readonly #syncedListeners: (() => void)[] = [];
  /** What came before the first scan was complete: done in the order of the paths, so that every start ends the same. */
  #early: Map<string, () => void> | undefined = new Map();
  #isClosed = false;

  constructor(options: DirectorySourceOptions) {
    const { clock, logger, metrics, only, rescanEveryMs = 30_000 } = options;
    this.#path = resolve(options.path);
    this.#log = new DirectoryLog(logger, metrics);
    this.#watches = new TopicWatches(this.#claims, only !== undefined);
    this.#files = new FlagFiles({
      clock,
      log: this.#log,
      claims: this.#claims,
      plainTopic: only?.topic,
      maxBytes,
    });
    this.#tree = new FileTree({
      path: this.#path,
      clock,
      maxBytes,
      rescanEveryMs,
      descends: only === undefined,
      accepts: (name) =>
        only === undefined ? flagFileExtensions.has(extname(name)) : name === only.fileName,
      listener: {
        news: (news) => this.#take(news),
        synced: () => this.#sync(),
        lost: (error) => this.#lose(error),
        found: () => this.#find(),
        trouble: (directory, error) => this.#log.directoryTrouble(directory, error),
      },
    });
  }

  get hasSynced(): boolean {
    return this.#early === undefined;
  }

  onSynced(listener: () => void): void {
    if (this.hasSynced) listener();
    else this.#syncedListeners.push(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#tree.run(signal);
    this.#isClosed = true;
    this.#files.close();
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    this.#watches.open(topic, sink, signal);
  }

  async #take(news: FileNews): Promise<void> {
    try {
      const act = await this.#files.prepare(news);
      if (this.#isClosed) return;
      if (this.#early === undefined) act();
      else this.#early.set(news.path, act);
    } catch (error) {
      // Our mistake, on one file: the others go on.
      this.#log.failed(news.path, error);
    }
  }

  #sync(): void {
    const early = this.#early ?? new Map<string, () => void>();
    this.#early = undefined;
    for (const path of [...early.keys()].sort()) early.get(path)?.();
    this.#log.synced(this.#path, this.#files.count, this.#claims.topicCount);
    this.#watches.sync();
    for (const listener of this.#syncedListeners.splice(0)) listener();
  }

  #lose(error: Error): void {
    this.#log.lost(this.#path, error);
    const sentence = `the flag directory ${this.#path} can't be read (${error.message}); it is read as soon as it can be`;
    this.#watches.setLost(new ProxyError("SOURCE_UNREADABLE", sentence, { cause: error }));
  }

  #find(): void {
    this.#log.found(this.#path);
    this.#watches.setLost(undefined);
  }
}
