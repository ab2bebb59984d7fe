import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { errorCode } from "@bunting/runtime";
import { identityOf, isNotFound } from "./file-stamp.js";

/** Directories, each with the names in it whose events count; undefined if all do. */
export type WatchedNames = ReadonlyMap<string, ReadonlySet<string> | undefined>;

interface OpenWatch {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/**
 * One plain, non-recursive fs.watch a directory: a recursive one goes deaf after the first rename over a file. A watch stays with the
 * directory it was opened on when another takes its name, so `set` must be called now and then.
 */
export class WatchSet {
  readonly #onEvent: () => void;
  readonly #watches = new Map<string, OpenWatch>();
  #wanted: WatchedNames = new Map();

  constructor(onEvent: () => void) {
    this.#onEvent = onEvent;
  }

  /**
   * Watches what is at these paths now, and nothing else. `isNew` says that a watch was opened: what happened before made no event.
   * `errors` says of which directories all events are missed.
   */
  async set(wanted: WatchedNames): Promise<{ readonly isNew: boolean; readonly errors: Map<string, Error> }> {
    this.#wanted = wanted;
    for (const directory of this.#watches.keys()) if (!wanted.has(directory)) this.#close(directory);
    const errors = new Map<string, Error>();
    let isNew = false;
    for (const [directory, names] of wanted) {
      try {
        if (await this.#open(directory)) isNew = true;
      } catch (error) {
        this.#close(directory);
        // Where only some names count, the periodic re-scan has to do.
        if (names === undefined && !isNotFound(error)) errors.set(directory, unwatched(directory, error));
      }
    }
    return { isNew, errors };
  }

  close(): void {
    for (const directory of this.#watches.keys()) this.#close(directory);
  }

  async #open(directory: string): Promise<boolean> {
    const identity = await identityAt(directory);
    if (this.#watches.get(directory)?.identity === identity) return false;
    this.#close(directory);
    const watcher = watch(directory, (_kind, name) => this.#note(directory, name));
    watcher.on("error", () => this.#note(directory, basename(directory)));
    this.#watches.set(directory, { identity, watcher });
    // If another directory has taken the name meanwhile, the next call notices.
    return true;
  }

  #note(directory: string, name: string | null): void {
    // The name of the directory itself: it was moved, removed or unmounted, and the watch may be dead.
    const isItself = name === basename(directory);
    if (isItself) this.#close(directory);
    const names = this.#wanted.get(directory);
    if (isItself || names === undefined || name === null || names.has(name)) this.#onEvent();
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
  return identityOf(await stat(directory, { bigint: true }));
}
