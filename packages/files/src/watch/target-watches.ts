import { DirectoryWatch, directoryIdentity } from "./directory-watch.js";

/** Names of interest, by the directory that they are in. */
export type WatchedNames = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Watches names in directories outside of the watched tree: what symbolic links lead to, which makes no event where the link is, and
 * the root directory itself. Where that is not possible (no permission, no watches left), the periodic re-scan has to do.
 */
export class TargetWatches {
  readonly #onEvent: (directory: string, name: string | null) => void;
  readonly #watches = new Map<string, DirectoryWatch>();
  #names: WatchedNames = new Map();

  constructor(onEvent: (directory: string, name: string | null) => void) {
    this.#onEvent = onEvent;
  }

  /** Watches these names and no others. True if a watch was opened: what happened before it made no event. */
  async set(names: WatchedNames): Promise<boolean> {
    this.#names = names;
    for (const directory of this.#watches.keys()) if (!names.has(directory)) this.#close(directory);
    let isNew = false;
    for (const directory of names.keys()) if (await this.#open(directory)) isNew = true;
    return isNew;
  }

  close(): void {
    for (const directory of this.#watches.keys()) this.#close(directory);
  }

  async #open(directory: string): Promise<boolean> {
    try {
      if (this.#watches.get(directory)?.identity === (await directoryIdentity(directory))) return false;
      this.#close(directory);
      const watch = await DirectoryWatch.open(
        directory,
        (_kind, name) => {
          if (name === null || this.#names.get(directory)?.has(name) === true) this.#onEvent(directory, name);
        },
        () => this.#close(directory),
      );
      this.#watches.set(directory, watch);
      return true;
    } catch {
      this.#close(directory);
      return false;
    }
  }

  #close(directory: string): void {
    this.#watches.get(directory)?.close();
    this.#watches.delete(directory);
  }
}
