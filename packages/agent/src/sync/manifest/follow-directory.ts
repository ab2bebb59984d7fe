import { isNotFound, TooManyFilesError, WatchedDirectory, type FileEvent } from "@bunting/files";
import { isFlagFileName } from "@bunting/featureflags/manifests";
import type { SyncSourceParts } from "../on-demand-source.js";
import type { FileSourceConfig } from "../source-config.js";
import { readFailure } from "../read-failure.js";
import { ManifestSet, tooLargeTogether } from "./manifest-set.js";

/** A file counts as a kilobyte of a document, however small it is: a flag in a file of its own takes five on the heap. */
const bytesPerFile = 1_024;

/** The net under fs.watch: how often the files are looked at although no event came. */
const lookEveryMs = 2_000;

/** How long after there was no room for all files together: others may have needed the heap for a while. */
const retryMs = 30_000;

/** Files that change together are taken over together: a file that is renamed is gone before it is there. */
const settleMs = 20;

/** The flag files below a directory as one document. This is the entry of a chunk. */
export class DirectoryFollower {
  readonly #parts: SyncSourceParts<FileSourceConfig>;
  readonly #manifests: ManifestSet;
  /** The paths of the files that are there. */
  readonly #files = new Set<string>();
  /** Why files are not served in their newest version, by path. */
  readonly #problems = new Map<string, string>();
  #hasSynced = false;
  #cancelDelivery: (() => void) | undefined;
  #cancelRetry: (() => void) | undefined;

  constructor(parts: SyncSourceParts<FileSourceConfig>) {
    this.#parts = parts;
    this.#manifests = parts.options.receiver.memoryOf(parts.config.sourceIndex).manifests ??=
      new ManifestSet();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { config, options, state } = this.#parts;
    const directory = new WatchedDirectory({
      path: config.path,
      files: { accepts: isFlagFileName },
      clock: options.context.clock,
      limits: {
        maxBytes: options.maxDocumentBytes,
        maxFiles: Math.floor(options.maxDocumentBytes / bytesPerFile),
        // YAML with comments may be twice as long as the JSON that is made of it.
        maxTotalBytes: 2 * options.maxDocumentBytes,
      },
      rescanEveryMs: lookEveryMs,
      listener: {
        event: (event) => this.#take(event),
        synced: () => {
          this.#hasSynced = true;
          this.#manifests.retain(this.#files);
          this.#deliver();
        },
        lost: (error) => {
          // A delivery that came after this would say that the directory is there.
          if (this.#cancelDelivery !== undefined) this.#deliver();
          this.#cancelAll();
          const isMissing = isNotFound(error);
          const what = isMissing ? "there is no directory" : "can't read";
          const reason = error instanceof TooManyFilesError ? "too_large" : readFailure(error);
          state.failed(isMissing ? "missing" : reason, `${what} ${config.path}: ${error.message}`);
        },
        found: () => this.#deliverSoon(),
        directoryError: (path, error) => {
          options.context.logger.warn(
            { directory: path, error: error.message },
            "a directory of flags can't be read or watched",
          );
        },
      },
    });
    try {
      await directory.run(signal);
    } finally {
      this.#cancelAll();
    }
  }

  #cancelAll(): void {
    this.#cancelDelivery?.();
    this.#cancelRetry?.();
    this.#cancelDelivery = this.#cancelRetry = undefined;
  }

  async #take(event: FileEvent): Promise<"done" | "retry"> {
    const { maxDocumentBytes: maxJsonBytes } = this.#parts.options;
    const { path } = event;
    this.#problems.delete(path);
    if (event.kind === "gone") this.#files.delete(path);
    else this.#files.add(path);
    let outcome: "done" | "retry" = "done";
    if (event.kind === "gone") this.#manifests.forget(path);
    else if (event.kind === "unreadable") this.#problems.set(path, event.error.message);
    else if (event.kind === "tooLarge")
      this.#problems.set(path, `it has ${event.size} bytes, and this agent has memory for ${maxJsonBytes}`);
    else {
      const { problems, isBlockedByHeap } = await this.#manifests.take(path, event.bytes, { maxJsonBytes });
      const [problem] = problems;
      if (problem !== undefined) this.#problems.set(path, problem);
      // The heap may be full of garbage, which is collected meanwhile, or of what goes later.
      if (isBlockedByHeap) outcome = "retry";
    }
    this.#deliverSoon();
    return outcome;
  }

  #deliverSoon(): void {
    if (!this.#hasSynced) return;
    this.#cancelDelivery ??= this.#parts.options.context.clock.after(settleMs, () => this.#deliver());
  }

  #deliver(): void {
    this.#cancelAll();
    const { config, options, state } = this.#parts;
    const { sourceIndex, path } = config;
    const [problem] = this.#problems;
    if (this.#manifests.size > 0) {
      const bytes = this.#manifests.document(options.maxDocumentBytes);
      if (bytes === undefined) {
        state.refused(`${path}: ${tooLargeTogether}`, { isLogged: false });
        this.#cancelRetry = options.context.clock.after(retryMs, () => this.#deliver());
        return;
      }
      const result = options.receiver.deliver({ sourceIndex, bytes });
      state.delivered(result);
      if ("refusal" in result) return;
    } else if (problem === undefined)
      state.warned(`there is no file of flags in ${path}; the previous flags, if any, are still served`);
    if (problem !== undefined) state.refused(`${problem[0]}: ${problem[1]}`, { isLogged: false });
  }
}
