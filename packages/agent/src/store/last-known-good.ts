import type { Clock, Logger } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import type { DocumentVersion } from "../sync/bunting-messages.js";
import { LastKnownGoodFile, type DocumentCopy, type CopySource } from "./last-known-good-file.js";
import type { StoreMetrics } from "./store-metrics.js";

export interface LastKnownGoodOptions {
  /** Where the files are; "" keeps no copies. */
  readonly directory: string;
  readonly sources: readonly CopySource[];
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: StoreMetrics;
  /** A longer copy is set aside without being read. */
  readonly maxDocumentBytes: number;
}

/** In a burst of updates each source is written once per interval: the first at once, then the newest. */
const minIntervalMs = 1_000;

/** The state of one source's file. */
interface Slot {
  readonly file: LastKnownGoodFile;
  /** The newest document that is not on disk yet, or "none" to delete the file. */
  pending: DocumentCopy | "none" | undefined;
  writing: Promise<void> | undefined;
  /** Cancels the pause before the next write. */
  cancel: (() => void) | undefined;
}

/**
 * The newest document of each source on disk, so that the agent can start while its sources are unreachable. A disk error never affects
 * what is served: it is logged once and counted.
 */
export class LastKnownGood {
  readonly #options: LastKnownGoodOptions;
  readonly #slots: readonly Slot[];
  #hasFailed = false;

  constructor(options: LastKnownGoodOptions) {
    this.#options = options;
    const { directory, sources, maxDocumentBytes } = options;
    this.#slots =
      directory === ""
        ? []
        : sources.map((source) => ({
            file: new LastKnownGoodFile(directory, source, maxDocumentBytes),
            pending: undefined,
            writing: undefined,
            cancel: undefined,
          }));
  }

  /**
   * Passes each document on disk to `take`, which says whether it can be used. A file that can't be used, or that an agent did not survive,
   * is set aside with a warning: reading it at each start could end the agent each time.
   */
  async load(take: (sourceIndex: number, document: DocumentCopy) => boolean): Promise<void> {
    const { logger } = this.#options;
    for (const [sourceIndex, { file }] of this.#slots.entries()) {
      await file.sweep();
      const fields = { sourceIndex, file: file.path };
      try {
        const isTaken = await file.load((document) => take(sourceIndex, document));
        if (isTaken === undefined) continue;
        if (!isTaken)
          throw new AgentError("CACHE_INVALID", `${file.path} can't be used: its document was refused`);
        logger.info(fields, "loaded the last-known-good copy of a source");
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        const setAside = await file.setAside();
        logger.warn(
          { ...fields, reason: error.message, ...(setAside === undefined ? {} : { setAside }) },
          "the last-known-good copy of a source was not loaded",
        );
      }
    }
  }

  /** Schedules the newest document of a source to be written. */
  keep(sourceIndex: number, bytes: Buffer, version?: DocumentVersion): void {
    this.#note(sourceIndex, { bytes, version });
  }

  /** Schedules the deletion of a source's file. */
  forget(sourceIndex: number): void {
    this.#note(sourceIndex, "none");
  }

  /** Resolves when everything scheduled is on disk and no write will follow. */
  async flush(): Promise<void> {
    for (const [sourceIndex, slot] of this.#slots.entries()) {
      // A write that is under way starts the pause before the next one, so the pause is cancelled after it.
      await slot.writing;
      slot.cancel?.();
      slot.cancel = undefined;
      await this.#writePending(sourceIndex, slot);
    }
  }

  #note(sourceIndex: number, pending: DocumentCopy | "none"): void {
    const slot = this.#slots[sourceIndex];
    if (slot === undefined) return;
    slot.pending = pending;
    if (slot.writing === undefined && slot.cancel === undefined) this.#write(sourceIndex, slot);
  }

  #write(sourceIndex: number, slot: Slot): void {
    slot.writing = this.#writePending(sourceIndex, slot).then(() => {
      slot.writing = undefined;
      slot.cancel = this.#options.clock.after(minIntervalMs, () => {
        slot.cancel = undefined;
        if (slot.pending !== undefined) this.#write(sourceIndex, slot);
      });
    });
  }

  async #writePending(sourceIndex: number, slot: Slot): Promise<void> {
    const document = slot.pending;
    if (document === undefined) return;
    slot.pending = undefined;
    try {
      if (document === "none") await slot.file.remove();
      else await slot.file.write(document);
      this.#hasFailed = false;
    } catch (error) {
      this.#options.metrics.lastKnownGoodFailed(sourceIndex);
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      this.#options.logger.warn(
        { sourceIndex, directory: this.#options.directory, error },
        "can't write to the cache directory; after a restart the agent has no flags until a source answers",
      );
    }
  }
}
