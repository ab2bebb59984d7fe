import { CopyWriter, type CopyFile, type DocumentCopy, type FailedCopies } from "@bunting/files/copies";
import type { Clock } from "@bunting/runtime";
import type { SourceVersion } from "../flag-source.js";
import { encodeCopy, type CopiedDocument } from "./copied-document.js";
import { encodeVersion, type CopyVersion } from "./copy-version.js";

export interface TopicCopyOptions {
  readonly file: CopyFile<CopyVersion>;
  readonly clock: Clock;
  /** Shared by all topics. */
  readonly failed: FailedCopies;
  /** Carries out a write of the file, which resolves with its size in bytes, or a removal, with 0. */
  readonly counted: (write: () => Promise<number>) => Promise<void>;
  readonly onFailed: (error: unknown) => void;
}

/** The file of one topic: it is read before it is written. */
export class StoredCopy {
  readonly #file: CopyFile<CopyVersion>;
  readonly #writer: CopyWriter<CopyVersion>;
  #loading: Promise<unknown> | undefined;
  #hasKept = false;

  constructor({ file, clock, failed, counted, onFailed }: TopicCopyOptions) {
    this.#file = file;
    this.#writer = new CopyWriter({
      file: {
        write: (copy) => counted(() => file.write(copy)),
        remove: () => counted(() => file.remove().then(() => 0)),
      },
      clock,
      failed,
      onDone: (error) => {
        if (error !== undefined) onFailed(error);
      },
    });
  }

  get path(): string {
    return this.#file.path;
  }

  /** True if a document was to be written since the process started. */
  get hasKept(): boolean {
    return this.#hasKept;
  }

  /** Passes the copy to `take`, if there is one. Rejects if the file can't be used or `take` throws. */
  async load(take: (copy: DocumentCopy<CopyVersion>) => void): Promise<void> {
    const loading = this.#file.load(take);
    this.#loading = loading.catch(() => undefined);
    try {
      await loading;
    } finally {
      this.#loading = undefined;
    }
  }

  /** Renames a file that can't be used. Returns its new path; undefined if that fails, or if it only could not be read. */
  setAside(error: unknown): Promise<string | undefined> {
    return this.#file.setAside(error);
  }

  /** Schedules the newest document to be written. */
  keep(copied: CopiedDocument, version: SourceVersion): void {
    this.#hasKept = true;
    // Encoded when it is written: of a burst of edits only the newest is.
    this.#schedule(() => ({ bytes: encodeCopy(copied), version: encodeVersion(version) }));
  }

  /** Schedules the removal of the file. */
  forget(): void {
    this.#schedule("none");
  }

  /** Resolves when everything scheduled is on disk. */
  async flush(): Promise<void> {
    await this.#loading;
    await this.#writer.flush();
  }

  /** Operations scheduled during a read of the file wait for it, and keep their order. */
  #schedule(pending: (() => DocumentCopy<CopyVersion>) | "none"): void {
    if (this.#loading === undefined) this.#writer.write(pending);
    else void this.#loading.then(() => this.#writer.write(pending));
  }
}
