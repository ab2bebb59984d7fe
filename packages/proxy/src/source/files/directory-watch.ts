import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";

export type DirectoryListener = (kind: "rename" | "change", name: string | null) => void;

/**
 * One plain, non-recursive fs.watch. A recursive one goes deaf after the first rename over a file, and this one stays with the
 * directory it was opened on when another takes its name: whoever holds it compares `identity` with what is at the path.
 */
export class DirectoryWatch {
  readonly identity: string;
  readonly #watcher: FSWatcher;

  private constructor(identity: string, watcher: FSWatcher) {
    this.identity = identity;
    this.#watcher = watcher;
  }

  /** @throws what the system says: no such directory, no permission, no watches left. */
  static async open(
    path: string,
    listener: DirectoryListener,
    onError: (error: Error) => void,
  ): Promise<DirectoryWatch> {
    for (;;) {
      const identity = await directoryIdentity(path);
      const watcher = watch(path, listener);
      watcher.on("error", onError);
      try {
        if ((await directoryIdentity(path)) === identity) return new DirectoryWatch(identity, watcher);
      } catch (error) {
        watcher.close();
        throw error;
      }
      // Another directory took the name meanwhile, and nobody can tell which of the two is watched.
      watcher.close();
    }
  }

  close(): void {
    this.#watcher.close();
  }
}

/** What tells one directory from another that has, or had, the same path. */
export async function directoryIdentity(path: string): Promise<string> {
  const stats = await stat(path, { bigint: true });
  if (!stats.isDirectory()) throw Object.assign(new Error(`${path} is not a directory`), { code: "ENOTDIR" });
  return `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}
