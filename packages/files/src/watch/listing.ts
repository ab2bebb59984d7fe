import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { DirectoryWatch } from "./directory-watch.js";
import { errorCode, isAbsence } from "./file-stamp.js";

/** Paths of what is in a directory, by kind; names that start with a dot are left out. */
export interface Entries {
  readonly files: readonly string[];
  /** What a link leads to is looked up at every scan, since it may change anywhere. */
  readonly links: readonly string[];
  readonly directories: readonly string[];
}

/** A directory that is watched, and its entries as they were listed last. */
export class Listing {
  readonly path: string;
  /** Where the directory really is: another path, if a link above it was swapped. */
  readonly realPath: string;
  readonly identity: string;
  readonly #onChange: (writtenPath: string | undefined) => void;
  #watch: DirectoryWatch | undefined;
  #isStale = true;
  #entries: Entries = { files: [], links: [], directories: [] };

  /** `onChange` gets the file that was written to; undefined if it may be any, or one that came or went. */
  constructor(
    path: string,
    realPath: string,
    identity: string,
    onChange: (writtenPath: string | undefined) => void,
  ) {
    this.path = path;
    this.realPath = realPath;
    this.identity = identity;
    this.#onChange = onChange;
  }

  get entries(): Entries {
    return this.#entries;
  }

  /**
   * Watches the directory, unless it is watched. Returns why that is not possible.
   *
   * @throws what the system says if there is no such directory.
   */
  async watch(): Promise<Error | undefined> {
    if (this.#watch !== undefined) return undefined;
    this.#isStale = true;
    try {
      this.#watch = await DirectoryWatch.open(
        this.path,
        (kind, name) => this.#onEvent(kind, name),
        () => this.#onEvent("rename", basename(this.path)),
      );
      return undefined;
    } catch (error) {
      if (isAbsence(error)) throw error;
      const remedy = errorCode(error) === "ENOSPC" ? ": raise fs.inotify.max_user_watches" : "";
      const sentence = `${this.path} can't be watched, so changes are seen only by the periodic re-scan${remedy}`;
      return new Error(sentence, { cause: error });
    }
  }

  /**
   * Lists the directory if something may have happened in it since; `watch` comes before, so that later changes make an event. True if
   * it was listed.
   *
   * @throws what the system says if it can't be listed.
   */
  async refresh(isForced: boolean): Promise<boolean> {
    if (!this.#isStale && !isForced) return false;
    this.#isStale = this.#watch === undefined;
    const found = await readdir(this.path, { withFileTypes: true });
    const visible = found.filter(({ name }) => !name.startsWith("."));
    const pathsOf = (is: (entry: Dirent) => boolean): string[] =>
      visible.filter(is).map(({ name }) => join(this.path, name));
    this.#entries = {
      files: pathsOf((entry) => entry.isFile()),
      links: pathsOf((entry) => entry.isSymbolicLink()),
      directories: pathsOf((entry) => entry.isDirectory()),
    };
    return true;
  }

  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  #onEvent(kind: "rename" | "change", name: string | null): void {
    const path = join(this.path, name ?? "");
    const isWrite = kind === "change" && this.#entries.files.includes(path);
    if (!isWrite) this.#isStale = true;
    // The name of the directory itself: it was moved, removed or unmounted, and the watch may be dead.
    if (name === basename(this.path)) this.close();
    this.#onChange(isWrite ? path : undefined);
  }
}
