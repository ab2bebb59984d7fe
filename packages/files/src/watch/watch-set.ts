import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { errorCode } from "@bunting/runtime";
import { fileIdentityOf, isNotFound } from "./file-stamp.js";

export interface WantedWatch {
  /** The directory that is meant; absent if whatever is at the path. */
  readonly identity?: string;
  /** The names in it whose events count; all, if absent. */
  readonly names?: Set<string>;
}

interface OpenWatch {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/**
 * One plain, non-recursive fs.watch a directory: a recursive one goes deaf after the first rename over a file. A watch stays with the
 * directory it was opened on when another takes its name, so `set` must be called now and then.
 */
export class WatchSet {
  readonly #onEvent: (directory: string, name?: string, isRename?: boolean) => void;
  readonly #watches = new Map<string, OpenWatch>();
  #wanted: ReadonlyMap<string, WantedWatch> = new Map();

  /** \`onEvent\` without a name: the directory itself changed, or anything in it. */
  constructor(onEvent: (directory: string, name?: string, isRename?: boolean) => void) {
    this.#onEvent = onEvent;
  }

  /**
   * Watches these directories, by path, and nothing else. \`opened\` are those whose watch is new: what happened before made no event.
   * \`errors\` says of which directories all events are missed.
   */
  async set(
    wanted: ReadonlyMap<string, WantedWatch>,
  ): Promise<{ readonly opened: readonly string[]; readonly errors: Map<string, Error> }> {
    this.#wanted = wanted;
    for (const directory of this.#watches.keys()) if (!wanted.has(directory)) this.#close(directory);
    const errors = new Map<string, Error>();
    const opened: string[] = [];
    for (const [directory, { identity, names }] of wanted) {
      try {
        if (this.#open(directory, identity ?? (await identityAt(directory)))) opened.push(directory);
      } catch (error) {
        this.#close(directory);
        // Where only some names count, the periodic re-scan has to do.
        if (names === undefined && !isNotFound(error)) errors.set(directory, unwatched(directory, error));
      }
    }
    return { opened, errors };
  }

  close(): void {
    for (const directory of this.#watches.keys()) this.#close(directory);
  }

  #open(directory: string, identity: string): boolean {
    if (this.#watches.get(directory)?.identity === identity) return false;
    this.#close(directory);
    // Elsewhere, one event may stand for several.
    const watcher = watch(directory, (kind, name) =>
      this.#note(directory, name, kind === "rename" && process.platform === "linux"),
    );
    watcher.on("error", () => this.#note(directory, basename(directory)));
    this.#watches.set(directory, { identity, watcher });
    // If another directory has taken the name meanwhile, the next call notices.
    return true;
  }

  #note(directory: string, name: string | null, isRename = false): void {
    // The name of the directory itself: it was moved, removed or unmounted, and the watch may be dead.
    const isItself = name === basename(directory);
    if (isItself) this.#close(directory);
    if (isItself || name === null) this.#onEvent(directory);
    else if (this.#wanted.get(directory)?.names?.has(name) !== false)
      this.#onEvent(directory, name, isRename);
  }

  #close(directory: string): void {
    this.#watches.get(directory)?.watcher.close();
    this.#watches.delete(directory);
  }
}

function unwatched(directory: string, cause: unknown): Error {
  const remedy = errorCode(cause) === "ENOSPC" ? ": raise fs.inotify.max_user_watches" : "";
  const message = `${directory} can't be watched, so changes are seen only by the periodic re-scan${remedy}`;
  return new Error(message, { cause });
}

async function identityAt(directory: string): Promise<string> {
  return fileIdentityOf(await stat(directory, { bigint: true }));
}
