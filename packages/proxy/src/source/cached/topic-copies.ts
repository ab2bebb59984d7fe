import { checkCopies, CopyFile, FailedCopies, UnusableCopyError } from "@bunting/files/copies";
import { documentHeapBytes, type TopicKey } from "@bunting/protocol";
import {
  HeapRoom,
  messageOf,
  RateLimitedLog,
  Semaphore,
  sleep,
  type Context,
  type DocumentRoom,
} from "@bunting/runtime";
import { isCrowdedOut } from "../../proxy-error.js";
import type { SourceVersion } from "../flag-source.js";
import type { SourceMetrics } from "../source-metrics.js";
import { decodeCopy, type CopiedDocument } from "./copied-document.js";
import { CopyBudget } from "./copy-budget.js";
import { decodeCopyVersion } from "./copy-version.js";
import { StoredCopy } from "./stored-copy.js";

export interface TopicCopiesOptions {
  readonly directory: string;
  /** Name of the source: copies of another source are not read. */
  readonly source: string;
  /** Limit of all copies on disk. */
  readonly maxBytes: number;
  readonly context: Context<Pick<SourceMetrics, "copyFailed">>;
  /** Free heap; that of this process but in tests. */
  readonly room?: Pick<DocumentRoom, "has">;
}

interface Entry {
  readonly copy: StoredCopy;
  isWatched: boolean;
}

/** Copies are read while many topics begin: so many at a time, each of which may be megabytes. */
const maxReads = 8;
/** Of a disk that is full for a while, documents of so many bytes are kept to be written when it is not. */
const mostFailedBytes = 16 * 1024 * 1024;
/** How long after a copy could not be read. */
const retryMs = 5_000;
/** No source has larger documents. */
const maxDocumentBytes = 64 * 1024 * 1024;

/** The newest documents on disk. No error of the disk affects what is served: it is logged and counted. */
export class TopicCopies {
  readonly #options: TopicCopiesOptions;
  readonly #log: RateLimitedLog;
  readonly #budget: CopyBudget;
  readonly #reads = new Semaphore(maxReads);
  readonly #failed = new FailedCopies(mostFailedBytes);
  readonly #room: Pick<DocumentRoom, "has">;
  /** Topics that are watched, or whose last write is under way. */
  readonly #entries = new Map<TopicKey, Entry>();

  constructor(options: TopicCopiesOptions) {
    const { directory, maxBytes, context } = options;
    this.#options = options;
    this.#log = new RateLimitedLog(context.logger, context.clock);
    this.#room = options.room ?? new HeapRoom(context.clock);
    this.#budget = new CopyBudget(directory, maxBytes, (file) => {
      context.metrics.copyFailed("full");
      this.#log.warn(
        "full",
        { file, cacheSizeBytes: maxBytes },
        "the copies take more than --cache-size allows: removed the one written longest ago",
      );
    });
  }

  /** Looks whether copies can be written, and counts what earlier processes left. Never rejects. */
  async begin(): Promise<void> {
    await checkCopies(this.#options.directory).catch((error: unknown) => this.#cannotWrite(error));
    await this.#budget.count();
  }

  /** True if earlier processes, or this one, have left some. */
  get areThere(): boolean {
    return this.#budget.hasAny;
  }

  /** A topic is watched from now on. */
  open(topic: TopicKey): void {
    const known = this.#entries.get(topic);
    if (known !== undefined) known.isWatched = true;
    else this.#entries.set(topic, { copy: this.#copyOf(topic), isWatched: true });
  }

  /** The topic is not watched any more: what is scheduled is written at once. */
  close(topic: TopicKey): void {
    const entry = this.#entries.get(topic);
    if (entry === undefined) return;
    entry.isWatched = false;
    void entry.copy.flush().then(() => {
      if (!entry.isWatched) this.#entries.delete(topic);
    });
  }

  /** Schedules the newest document of a watched topic to be written. */
  keep(topic: TopicKey, copied: CopiedDocument, version: SourceVersion): void {
    this.#entries.get(topic)?.copy.keep(copied, version);
  }

  /** Schedules the removal of a watched topic's copy. */
  forget(topic: TopicKey): void {
    const copy = this.#entries.get(topic)?.copy;
    if (copy !== undefined && this.#mayExist(copy)) copy.forget();
  }

  /**
   * Passes the copy of a watched topic to `take`, if there is one, unless the signal aborts before. A copy that can't be used is set aside; one
   * that the heap has no room for stays, for a process with more memory, and one that could not be read is read later. Never rejects.
   *
   * @param maxBytes a larger document is not parsed
   */
  async load(
    topic: TopicKey,
    take: (copied: CopiedDocument, version: SourceVersion) => void,
    signal: AbortSignal,
    maxBytes = maxDocumentBytes,
  ): Promise<void> {
    const copy = this.#entries.get(topic)?.copy;
    if (copy === undefined || !this.#mayExist(copy)) return;
    const release = await this.#reads.acquire(signal).catch(() => undefined);
    if (release === undefined) return;
    try {
      await copy.load(({ bytes, version }) => {
        if (signal.aborted || bytes.length > maxBytes) return;
        // V8 ends a process whose heap is full, after it has tried for seconds to make room.
        if (!this.#room.has(documentHeapBytes(bytes))) {
          this.#lacksRoom(topic, copy, bytes.length);
          return;
        }
        const copied = decodeCopy(bytes);
        const noticedMs = this.#options.context.clock.monotonicMs();
        try {
          take(copied, { ...version?.fields, noticedMs, isUnconfirmed: true });
        } catch (error) {
          // Nothing is wrong with the copy, and it may be all that there is.
          if (!isCrowdedOut(error)) throw error;
          this.#lacksRoom(topic, copy, bytes.length);
        }
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof UnusableCopyError && error.isUnread) {
        this.#cannotRead(topic, copy, error);
        // The second reading runs by itself: the source may answer before.
        void sleep(retryMs, signal, this.#options.context.clock).then(() =>
          signal.aborted ? undefined : this.load(topic, take, signal, maxBytes),
        );
      } else await this.#setAside(topic, copy, error);
    } finally {
      release();
    }
  }

  /** Resolves when everything scheduled is on disk. */
  async flush(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ copy }) => copy.flush()));
  }

  /** Names that peers guess cost no access to the disk. */
  #mayExist(copy: StoredCopy): boolean {
    return copy.hasKept || this.#budget.mayHave(copy.path);
  }

  #lacksRoom(topic: TopicKey, copy: StoredCopy, sizeBytes: number): void {
    this.#options.context.metrics.copyFailed("unusable");
    this.#log.warn(
      "room",
      { topic, file: copy.path, sizeBytes },
      "there is no memory for the copy of a FeatureFlag, which stays as it is: raise the container's memory limit, or --max-old-space-size of node",
    );
  }

  #cannotRead(topic: TopicKey, copy: StoredCopy, { message: reason }: UnusableCopyError): void {
    this.#options.context.metrics.copyFailed("unusable");
    const fields = { topic, reason, file: copy.path };
    this.#log.warn("unread", fields, "the copy of a FeatureFlag can't be read for now, and stays as it is");
  }

  async #setAside(topic: TopicKey, copy: StoredCopy, error: unknown): Promise<void> {
    const setAside = await copy.setAside(error);
    this.#budget.written(copy.path, 0);
    this.#options.context.metrics.copyFailed("unusable");
    const reason = messageOf(error);
    const fields = { topic, reason, file: copy.path, ...(setAside === undefined ? {} : { setAside }) };
    this.#log.warn("unusable", fields, "the copy of a FeatureFlag can't be used; it is set aside");
  }

  #copyOf(topic: TopicKey): StoredCopy {
    const { directory, source, context } = this.#options;
    const file = new CopyFile({
      directory,
      source: [source, topic],
      maxDocumentBytes,
      decodeVersion: decodeCopyVersion,
    });
    return new StoredCopy({
      file,
      clock: context.clock,
      failed: this.#failed,
      counted: (write) => this.#budget.counted(file.path, write),
      onFailed: (error) => this.#cannotWrite(error, topic),
    });
  }

  #cannotWrite(error: unknown, topic?: TopicKey): void {
    const { directory, context } = this.#options;
    context.metrics.copyFailed("write");
    const reason = messageOf(error);
    const fields = { ...(topic === undefined ? {} : { topic }), directory, reason };
    this.#log.warn(
      "write",
      fields,
      "can't write to --cache-dir, so after a restart there are no flags until the source answers: name a directory on a volume that has room and that the user of this process may write to",
    );
  }
}
