import type { TopicKey } from "@bunting/protocol";
import type { Logger } from "@bunting/runtime";
import type { ManifestFault } from "../manifest/manifest.js";
import type { TextRemark } from "../manifest/parsed-text.js";
import type { SourceMetrics } from "../source-metrics.js";

/** More remarks on one version of a file are counted but not spelled out. */
const maxRemarks = 100;

/** What the directory source writes to the log and counts. Each method is called once an occasion. */
export class DirectoryLog {
  readonly #logger: Logger;
  readonly #metrics: SourceMetrics;

  constructor(logger: Logger, metrics: SourceMetrics) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  fault(file: string, { line, topic, message, reason }: ManifestFault): void {
    this.#metrics.documentInvalid(reason);
    const fields = { file, line, ...(topic === undefined ? {} : { topic }), reason: message };
    this.#logger.error(fields, "flags of a file are not served as they stand; what was valid before stays");
  }

  conflict(topic: TopicKey, refused: FilePlace, served: FilePlace): void {
    this.#metrics.documentInvalid("duplicate");
    const reason = `${topic} is served from ${served.path}:${served.line} and stays so; remove it from one of the two files`;
    const fields = { file: refused.path, line: refused.line, topic, reason };
    this.#logger.error(fields, "a FeatureFlag is in two files");
  }

  remarks(file: string, remarks: readonly TextRemark[]): void {
    for (const { kind } of remarks) this.#metrics.documentRemark(kind);
    for (const { line, message } of remarks.slice(0, maxRemarks)) {
      this.#logger.warn({ file, line, remark: message }, "a flag file is served, but look at this");
    }
    const more = remarks.length - maxRemarks;
    if (more > 0) this.#logger.warn({ file, more }, "there are more remarks like these on the file");
  }

  unreadable(file: string, error: Error): void {
    this.#metrics.sourceError("unreadable");
    this.#logger.error({ file, error }, "a flag file can't be read; what was valid before stays");
  }

  failed(file: string, error: unknown): void {
    this.#metrics.sourceError("defect");
    this.#logger.error(
      { file, error },
      "a change of a flag file was lost to a defect of ours; please report it",
    );
  }

  gone(file: string): void {
    this.#logger.info({ file }, "a flag file is gone");
  }

  synced(directory: string, files: number, topics: number): void {
    this.#logger.info({ directory, files, topics }, "flag directory read");
  }

  lost(directory: string, error: Error): void {
    this.#metrics.sourceError("unreadable");
    this.#logger.error(
      { directory, error },
      "the flag directory can't be read; what was served stays, and it is read as soon as it can be",
    );
  }

  found(directory: string): void {
    this.#logger.info({ directory }, "the flag directory can be read again");
  }

  directoryTrouble(directory: string, error: Error): void {
    this.#metrics.sourceError("unreadable");
    this.#logger.error({ directory, error }, "a directory of flags can't be read or watched as it should");
  }
}

export interface FilePlace {
  readonly path: string;
  readonly line: number;
}
