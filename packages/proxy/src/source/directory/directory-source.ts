import { resolve } from "node:path";
import { WatchedDirectory, type FileEvent } from "@bunting/files";
import type { Readers, TopicKey } from "@bunting/protocol";
import { HeapRoom, type Context } from "@bunting/runtime";
import { freeHeapBytes } from "@bunting/runtime/heap";
import { ProxyError } from "../../proxy-error.js";
import { isFlagFileName, maxManifestBytes } from "@bunting/featureflags/manifests";
import type { FlagSource, SourceSink } from "../flag-source.js";
import { Synced } from "../synced.js";
import type { SourceMetrics } from "../source-metrics.js";
import { DirectoryLog } from "./directory-log.js";
import { ManifestIntake } from "./manifest-intake.js";
import { TopicClaims } from "./topic-claims.js";
import { TopicWatches } from "./topic-watches.js";

export interface DirectorySourceOptions {
  readonly path: string;
  readonly context: Context<SourceMetrics>;
  /** Serves this one file of the directory, as this topic, and nothing else. */
  readonly only?: { readonly fileName: string; readonly topic: TopicKey };
  /** Interval of scans without an event. */
  readonly rescanEveryMs?: number;
}

/** Files are held as values; what is subscribed to is held once more, as text. */
const heapShareBesideFiles = 0.55;

/**
 * Serves the FeatureFlags below a directory. `WatchedDirectory` says when a file is to be read, the intake reads what is in it
 * (readManifest), the claims decide which file a topic is served from, and the watches report it to the topics.
 */
export class DirectorySource extends Synced implements FlagSource {
  readonly name = "source";
  readonly #path: string;
  readonly #log: DirectoryLog;
  readonly #directory: WatchedDirectory;
  readonly #intake: ManifestIntake;
  readonly #claims = new TopicClaims((topic) => this.#watches.refresh(topic));
  readonly #watches: TopicWatches;

  constructor(options: DirectorySourceOptions) {
    super();
    const { context, only, rescanEveryMs = 30_000 } = options;
    this.#path = resolve(options.path);
    this.#log = new DirectoryLog(context.logger, context.metrics);
    this.#watches = new TopicWatches(this.#claims, only !== undefined, (path, error) =>
      this.#log.failed(path, error),
    );
    const room = new HeapRoom(context.clock, undefined, heapShareBesideFiles);
    this.#intake = new ManifestIntake({
      clock: context.clock,
      log: this.#log,
      claims: this.#claims,
      plainTopic: only?.topic,
      maxBytes: maxManifestBytes,
      // No file is read once they have filled their share.
      heapBytes: () => (room.has(1) ? freeHeapBytes() : 0),
    });
    this.#directory = new WatchedDirectory({
      path: this.#path,
      files: only === undefined ? { accepts: isFlagFileName } : { only: only.fileName },
      clock: context.clock,
      limits: { maxBytes: maxManifestBytes },
      rescanEveryMs,
      listener: {
        event: (event) => this.#take(event),
        synced: () => this.#sync(),
        lost: (error) => this.#lose(error),
        found: () => this.#find(),
        directoryError: (directory, error) => this.#log.directoryError(directory, error),
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#directory.run(signal);
    this.#intake.close();
  }

  watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    this.#watches.open(topic, sink, signal);
  }

  offerAgain(topic: TopicKey, done: () => void): void {
    this.#watches.offerAgain(topic);
    done();
  }

  readersOf(topic: TopicKey): Readers | undefined | "unknown" {
    return this.hasSynced ? this.#claims.served(topic)?.readers : "unknown";
  }

  async #take(event: FileEvent): Promise<"done" | "retry"> {
    try {
      return await this.#intake.take(event);
    } catch (error) {
      // A bug of ours that one file brings out must not keep the others from being served.
      this.#log.failed(event.path, error);
      return "done";
    }
  }

  #sync(): void {
    this.#log.synced(this.#path, this.#intake.fileCount, this.#claims.topicCount);
    this.reached();
    this.#watches.sync();
  }

  #lose(error: Error): void {
    this.#log.lost(this.#path, error);
    const message = `the flag directory ${this.#path} can't be read (${error.message}); it is read as soon as it can be`;
    this.#watches.setLost(new ProxyError("SOURCE_UNREADABLE", message, { cause: error }));
  }

  #find(): void {
    this.#log.found(this.#path);
    this.#watches.setLost(undefined);
  }
}
