import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import path from "node:path";

/** What fs.watch said between two looks. */
export interface ParentEvents {
  /** Of the file's own name: it came, went, or another took its place. */
  readonly renames: number;
  /** Of the file's own name: it was written to, or its mode changed. */
  readonly changes: number;
}

/**
 * One plain fs.watch on the directory a file is in. It stays with the directory it was opened on, so that `arm` must be called again
 * now and then: it notices when another directory has the name, or none had at first.
 */
export class ParentWatch {
  readonly #directory: string;
  readonly #fileName: string;
  readonly #onEvent: () => void;
  #watcher: FSWatcher | undefined;
  #identity: string | undefined;
  #renames = 0;
  #changes = 0;

  constructor(filePath: string, onEvent: () => void) {
    this.#directory = path.dirname(filePath);
    this.#fileName = path.basename(filePath);
    this.#onEvent = onEvent;
  }

  /** Watches the directory that has the name now. True if that is another than before. */
  async arm(): Promise<boolean> {
    const identity = await directoryIdentity(this.#directory);
    if (identity === this.#identity) return false;
    this.close();
    if (identity === undefined) return true;
    try {
      const watcher = watch(this.#directory, (kind, name) => this.#note(kind, name));
      watcher.on("error", () => this.close());
      this.#watcher = watcher;
      // What is watched is one of the two if they differ; then the next call tries again.
      if ((await directoryIdentity(this.#directory)) === identity) this.#identity = identity;
    } catch {
      // No permission, or no watches left: the looks that come by the clock have to do.
    }
    return true;
  }

  /** What happened since it was last forgotten. */
  peekEvents(): ParentEvents {
    return { renames: this.#renames, changes: this.#changes };
  }

  forgetEvents(): void {
    this.#renames = 0;
    this.#changes = 0;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#identity = undefined;
  }

  #note(kind: "rename" | "change", name: string | null): void {
    // Elsewhere events of different kinds are merged and prove nothing.
    const isTelling = process.platform === "linux" && name === this.#fileName;
    if (isTelling && kind === "rename") this.#renames++;
    else if (name === this.#fileName || name === null) this.#changes++;
    this.#onEvent();
  }
}

async function directoryIdentity(directory: string): Promise<string | undefined> {
  try {
    const stats = await stat(directory, { bigint: true });
    return stats.isDirectory() ? `${stats.dev}:${stats.ino}:${stats.birthtimeNs}` : undefined;
  } catch {
    return undefined;
  }
}
