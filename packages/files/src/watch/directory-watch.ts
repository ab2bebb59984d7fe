import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { identityOf } from "./file-stamp.js";

export type DirectoryListener = (kind: "rename" | "change", name: string | null) => void;

/**
 * One plain, non-recursive fs.watch: a recursive one goes deaf after the first rename over a file. It stays with the directory it was
 * opened on when another takes its name, so `identity` must be compared with what is at the path now and then.
 */
export class DirectoryWatch {
  readonly identity: string;
  readonly #watcher: FSWatcher;

  private constructor(identity: string, watcher: FSWatcher) {
    this.identity = identity;
    this.#watcher = watcher;
  }

  /** @throws what the system says: no such directory, no permission, no watches left. */
  static async open(path: string, listener: DirectoryListener, onError: () => void): Promise<DirectoryWatch> {
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
      // Another directory took the name meanwhile, and either of the two may be the one that is watched.
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
  if (!stats.isDirectory()) {
    throw Object.assign(new Error(`ENOTDIR: ${path} is not a directory`), { code: "ENOTDIR" });
  }
  return identityOf(stats);
}
