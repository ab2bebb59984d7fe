import type { DocumentVersion } from "@bunting/sync-client/messages";
import { CopyWriter, FailedCopies, UnusableCopyError, type CopyFile } from "@bunting/files/copies";
import type { Context } from "@bunting/runtime";
import { lastKnownGoodFile, type CopySource, type SourceCopy } from "./last-known-good-file.js";
import type { StoreMetrics } from "./store-metrics.js";

export interface LastKnownGoodOptions {
  /** Where the files are; "" keeps no copies. */
  readonly directory: string;
  readonly sources: readonly CopySource[];
  readonly context: Context<StoreMetrics>;
  /** A longer copy is set aside without being read. */
  readonly maxDocumentBytes: number;
}

interface Slot {
  readonly file: CopyFile<DocumentVersion>;
  readonly writer: CopyWriter<DocumentVersion>;
}

/**
 * The newest document of each source on disk, so that the agent can start while its sources are unreachable. A disk error never affects
 * what is served: it is logged once and counted, and the write is tried again until the disk takes it.
 */
export class LastKnownGood {
  readonly #options: LastKnownGoodOptions;
  readonly #slots: ReadonlyMap<number, Slot>;
  /** The sources whose newest document is not on disk, because writing it failed. */
  readonly #failing = new Set<number>();

  constructor(options: LastKnownGoodOptions) {
    this.#options = options;
    const { directory, sources, maxDocumentBytes, context } = options;
    const slots = (directory === "" ? [] : sources).map((source, place): [number, Slot] => {
      const { sourceIndex = place } = source;
      const file = lastKnownGoodFile(directory, source, maxDocumentBytes);
      const onDone = (error?: unknown): void => this.#wrote(sourceIndex, error);
      const writer = new CopyWriter({ file, clock: context.clock, onDone, failed: new FailedCopies() });
      return [sourceIndex, { file, writer }];
    });
    this.#slots = new Map(slots);
  }

  /**
   * Passes each document on disk that is wanted to `take`, which returns whether it can be used, or undefined if that is not known. A file that can't
   * be used, or that two agents in a row did not survive, is set aside with a warning: reading it at each start could end the agent each time.
   */
  async load(
    take: (sourceIndex: number, document: SourceCopy) => boolean | undefined,
    isWanted: (sourceIndex: number) => boolean = () => true,
  ): Promise<void> {
    const { logger } = this.#options.context;
    for (const [sourceIndex, { file }] of this.#slots) {
      if (!isWanted(sourceIndex)) continue;
      await file.sweep();
      const fields = { sourceIndex, file: file.path };
      try {
        const isTaken = await file.load((document) => take(sourceIndex, document));
        if (isTaken === undefined) continue;
        if (!isTaken) throw new UnusableCopyError(`${file.path} can't be used: its document was refused`);
        logger.info(fields, "loaded the last-known-good copy of a source");
      } catch (error) {
        if (!(error instanceof UnusableCopyError)) throw error;
        const setAside = await file.setAside(error);
        logger.warn(
          { ...fields, reason: error.message, ...(setAside === undefined ? {} : { setAside }) },
          "the last-known-good copy of a source was not loaded",
        );
      }
    }
  }

  /** Schedules the newest document of a source to be written. */
  keep(sourceIndex: number, bytes: Buffer, version?: DocumentVersion): void {
    this.#slots.get(sourceIndex)?.writer.write(() => ({ bytes, version }));
  }

  /** Schedules the deletion of a source's file. */
  forget(sourceIndex: number): void {
    this.#slots.get(sourceIndex)?.writer.write("none");
  }

  /** Resolves when everything scheduled is on disk and no write will follow. */
  async flush(): Promise<void> {
    for (const { writer } of this.#slots.values()) await writer.flush();
  }

  #wrote(sourceIndex: number, error: unknown): void {
    const { context, directory } = this.#options;
    const wasFailing = this.#failing.size > 0;
    if (error === undefined) {
      this.#failing.delete(sourceIndex);
      if (wasFailing && this.#failing.size === 0)
        context.logger.info({ sourceIndex, directory }, "the cache directory can be written to again");
      return;
    }
    context.metrics.lastKnownGoodFailed(sourceIndex);
    this.#failing.add(sourceIndex);
    if (wasFailing) return;
    context.logger.warn(
      { sourceIndex, directory, error },
      "can't write to the cache directory: until it can be, an agent that starts without its sources has the flags of the last copy, if any; retrying",
    );
  }
}
