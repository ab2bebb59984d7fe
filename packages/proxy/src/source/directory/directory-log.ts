import type { TopicKey } from "@bunting/protocol";
import { errorCode, messageOf, type Logger } from "@bunting/runtime";
import type { ManifestError, ManifestWarning } from "@bunting/featureflags/manifests";
import { crowdedOutText, isCrowdedOut } from "../../proxy-error.js";
import type { SourceMetrics } from "../source-metrics.js";

/** More errors or warnings about one version of a file are counted but not written out. */
const maxLines = 100;

/** Advice about a directory that can't be read, by the error code of the system. */
const remedies: Readonly<Partial<Record<string, string>>> = {
  ENOENT: "create it, or correct its path",
  ENOTDIR: "name the directory that flag files are in, not a file",
  EACCES: "let the user of this process read it",
};

/** Log lines and counts of the directory source. The caller must not report anything twice. */
export class DirectoryLog {
  readonly #logger: Logger;
  readonly #metrics: SourceMetrics;

  constructor(logger: Logger, metrics: SourceMetrics) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  errors(file: string, errors: readonly ManifestError[]): void {
    for (const { reason } of errors) this.#metrics.documentInvalid(reason);
    for (const error of errors.slice(0, maxLines)) this.#invalid(file, error);
    const more = errors.length - maxLines;
    if (more > 0) this.#logger.error({ file, more }, "there are more errors like these in the file");
  }

  conflict(topic: TopicKey, refused: FilePlace, served: FilePlace): void {
    this.#metrics.documentInvalid("duplicate");
    const reason = `${topic} is served from ${served.path}:${served.line} and stays so; remove it from one of the two files`;
    const fields = { file: refused.path, line: refused.line, topic, reason };
    this.#logger.error(fields, "a FeatureFlag is in two files");
  }

  warnings(file: string, warnings: readonly ManifestWarning[]): void {
    for (const { kind } of warnings) this.#metrics.documentWarning(kind);
    for (const { line, message } of warnings.slice(0, maxLines))
      this.#logger.warn({ file, line, warning: message }, "a flag file is served with a warning");
    const more = warnings.length - maxLines;
    if (more > 0) this.#logger.warn({ file, more }, "there are more warnings like these about the file");
  }

  unreadable(file: string, error: Error): void {
    this.#metrics.sourceError("unreadable");
    this.#logger.error(
      { file, error },
      "a flag file can't be read; its last valid version, if it had one, is still served",
    );
  }

  failed(file: string, error: unknown): void {
    if (isCrowdedOut(error)) {
      this.#logger.error({ file, reason: messageOf(error) }, crowdedOutText);
      return;
    }
    this.#metrics.sourceError("defect");
    this.#logger.error(
      { file, error },
      "a bug of Bunting kept a change of a flag file from being served; please report it",
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
    const advice = remedies[errorCode(error) ?? ""];
    this.#logger.error(
      { directory, error, ...(advice === undefined ? {} : { advice }) },
      "the flag directory can't be read; flags read before are still served, and it is read again as soon as it can be",
    );
  }

  found(directory: string): void {
    this.#logger.info({ directory }, "the flag directory can be read again");
  }

  directoryError(directory: string, error: Error): void {
    this.#metrics.sourceError("unreadable");
    this.#logger.error({ directory, error }, "a flag directory can't be read or watched");
  }

  #invalid(file: string, { line, column, topic, message }: ManifestError): void {
    const fields = {
      file,
      line,
      column,
      ...(topic === undefined ? {} : { topic }),
      reason: message,
    };
    this.#logger.error(
      fields,
      "part of a flag file is invalid; its last valid version, if it had one, is still served",
    );
  }
}

export interface FilePlace {
  readonly path: string;
  readonly line: number;
}
