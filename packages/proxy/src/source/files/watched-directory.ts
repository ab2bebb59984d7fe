import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { directoryIdentity, DirectoryWatch } from "./directory-watch.js";
import type { FileNews } from "./file-news.js";
import { errorCode, isAbsence } from "./file-stamp.js";
import { LinkTargets } from "./link-targets.js";
import { OneAtATime } from "./one-at-a-time.js";
import { WatchedFile, type WatchedFileOptions } from "./watched-file.js";

export interface WatchedDirectoryOptions extends Omit<WatchedFileOptions, "realDirectory"> {
  /** Whether a file of this name is one of ours. */
  accepts(name: string): boolean;
  /** Whether sub-directories are watched too. */
  readonly descends: boolean;
  /** How many directories may still be opened, over the whole tree. */
  readonly budget: { directories: number };
  /** Something keeps a directory from being listed or watched; undefined once that is over. Told on change only. */
  onTrouble(directory: WatchedDirectory, error: Error | undefined): void;
}

/** After an event, which says what to look at first, everything in the directory is looked at within this. */
const sweepWithinMs = 1_000;

/**
 * One directory and what is in it. Events only say where to look: every one is followed by a new listing of the directory, and
 * what counts is what that finds. So neither merged nor lost events, nor a directory that was replaced by another of the same name,
 * leave anything behind; and a directory that vanished is only one in which nothing is found any more.
 *
 * Names that start with a dot are skipped: in a ConfigMap mount they hold the same files once more, and elsewhere what editors and
 * rsync write before they rename. Links are followed, but not into a directory they lie in.
 */
export class WatchedDirectory {
  readonly path: string;
  readonly #options: WatchedDirectoryOptions;
  readonly #parent: WatchedDirectory | undefined;
  readonly #files = new Map<string, WatchedFile>();
  readonly #children = new Map<string, WatchedDirectory>();
  readonly #targets: LinkTargets;
  readonly #scanning = new OneAtATime(() => this.#scan());
  readonly #sweeping = new OneAtATime(() => this.#sweep());
  #watch: DirectoryWatch | undefined;
  /** Undefined while there is no directory at the path. */
  #identity: string | undefined;
  /** The watch may belong to a directory that is gone. */
  #isWatchDoubtful = false;
  #noticedMs = 0;
  /** The path leads to another directory than at the last listing. */
  #hasMoved = false;
  #isDeep = false;
  #realPath: string;
  #cancelSweep: (() => void) | undefined;
  #trouble: string | undefined;
  /** A sub-directory that was left out, since the tree has too many. */
  #leftOut: string | undefined;
  #wasScanned = false;
  #isListed = false;
  #isClosed = false;

  constructor(path: string, options: WatchedDirectoryOptions, parent?: WatchedDirectory) {
    this.path = path;
    this.#realPath = path;
    this.#options = options;
    this.#parent = parent;
    this.#targets = new LinkTargets((kind, file) => file.note(kind, options.clock.monotonicMs()));
  }

  /** True if the last look at the directory found out what is in it. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /** All files of this directory and those below, known or not. */
  *files(): Generator<WatchedFile> {
    yield* this.#files.values();
    for (const child of this.#children.values()) yield* child.files();
  }

  /**
   * Lists the directory again and looks at what may have changed without an event of its own; `deep` says at everything, below as
   * well. Resolves when all that could be read at once was told.
   */
  async rescan(noticedMs: number, deep: boolean): Promise<void> {
    this.#noticedMs = noticedMs;
    this.#isDeep ||= deep;
    const looksAtAll = !this.#wasScanned;
    await this.#scanning.request();
    if (deep && !looksAtAll) await this.#sweeping.request();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep?.();
    await Promise.all([this.#scanning.idle(), this.#sweeping.idle()]);
    this.#stopWatching();
    await Promise.all([...this.#files.values(), ...this.#children.values()].map((part) => part.close()));
  }

  async #scan(): Promise<void> {
    if (this.#isClosed) return;
    const noticedMs = this.#noticedMs;
    let trouble: Error | undefined;
    let entries: readonly Dirent[] = [];
    let isListed = false;
    try {
      trouble = await this.#keepWatching();
      if (this.#identity !== undefined) entries = await readdir(this.path, { withFileTypes: true });
      isListed = true;
    } catch (error) {
      trouble = error instanceof Error ? error : new Error(String(error));
      if (isAbsence(trouble)) this.#stopWatching();
    }
    this.#isListed = isListed;
    const isDeep = this.#isDeep;
    this.#isDeep = false;
    const hasMoved = this.#hasMoved;
    this.#hasMoved = false;
    const { files, children } = await this.#take(entries, hasMoved);
    await Promise.all([
      ...[...files].map((file) => file.examine(noticedMs)),
      ...[...(isDeep ? this.#children.values() : children)].map((child) => child.rescan(noticedMs, isDeep)),
    ]);
    this.#wasScanned = true;
    for (const [name, file] of this.#files) if (file.isNothing) this.#dropFile(name, file);
    for (const child of this.#children.values()) this.#dropIfNothing(child);
    this.#askToBeDropped();
    if (this.#watch !== undefined) await this.#targets.follow(this.#files.values());
    if (this.#leftOut !== undefined) {
      trouble ??= new Error(`${this.#leftOut} is not read: there are too many directories`);
    }
    if (this.#parent === undefined || !isAbsence(trouble)) this.#tellTrouble(trouble);
  }

  /** Looks at every file, one after the other: what an event named must not have to wait for the others. */
  async #sweep(): Promise<void> {
    for (const file of [...this.#files.values()]) {
      if (this.#isClosed) return;
      await file.examine(this.#options.clock.monotonicMs());
    }
  }

  /** Watches what is at the path now, before it is listed: what comes after the listing makes an event. */
  async #keepWatching(): Promise<Error | undefined> {
    const identity = await directoryIdentity(this.path);
    const realPath = await realpath(this.path);
    this.#hasMoved ||= realPath !== this.#realPath;
    this.#realPath = realPath;
    if (this.#parent !== undefined && this.#parent.#liesIn(identity)) {
      this.#stopWatching();
      return undefined;
    }
    const isSame = identity === this.#identity;
    this.#identity = identity;
    if (isSame && this.#watch !== undefined && !this.#isWatchDoubtful) return undefined;
    this.#watch?.close();
    this.#watch = undefined;
    this.#isWatchDoubtful = false;
    this.#isDeep = true;
    this.#hasMoved = true;
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
      const sentence = `${this.path} can't be watched, so that changes are seen only by the periodic re-scan${remedy}`;
      return new Error(sentence, { cause: error });
    } finally {
      // Nobody knows what happened to them before this watch.
      for (const file of this.#files.values()) file.doubt();
    }
  }

  /**
   * Makes a part for every entry that is one of ours; returns what may have changed without an event here: what is new or vanished,
   * and links, since the way they lead may have changed anywhere.
   */
  async #take(
    entries: readonly Dirent[],
    hasMoved: boolean,
  ): Promise<{ files: Set<WatchedFile>; children: Set<WatchedDirectory> }> {
    this.#leftOut = undefined;
    const files = new Set(this.#files.values());
    const children = new Set(this.#children.values());
    for (const entry of entries) {
      const { name } = entry;
      if (name.startsWith(".")) continue;
      const kind = await kindOf(entry, join(this.path, name));
      if (kind === "file" && this.#options.accepts(name)) {
        const known = this.#files.get(name);
        if (known === undefined) files.add(this.#fileAt(name));
        else if (!entry.isSymbolicLink() && !known.isLink && !hasMoved) files.delete(known);
      } else if (kind === "directory" && this.#options.descends) {
        const known = this.#children.get(name);
        const child = known ?? this.#addChild(name);
        if (known === undefined && child !== undefined) children.add(child);
        else if (known !== undefined && !entry.isSymbolicLink()) children.delete(known);
      }
    }
    return { files, children };
  }

  #onEvent(kind: "rename" | "change", name: string | null): void {
    if (this.#isClosed) return;
    const noticedMs = this.#options.clock.monotonicMs();
    // The name that the system uses for the directory itself, when it is deleted or moved away.
    if (name === basename(this.path)) this.#isWatchDoubtful = true;
    const isOurs = name !== null && !name.startsWith(".") && this.#options.accepts(name);
    const file = isOurs && kind === "rename" ? this.#fileAt(name) : this.#files.get(name ?? "");
    file?.note(kind, noticedMs);
    void this.#children.get(name ?? "")?.rescan(noticedMs, false);
    if (kind === "rename" || file === undefined) void this.rescan(noticedMs, false);
    this.#sweepLater();
  }

  #sweepLater(): void {
    const { clock } = this.#options;
    this.#cancelSweep ??= clock.after(sweepWithinMs, () => {
      this.#cancelSweep = undefined;
      void this.#scanning.request().then(() => this.#sweeping.request());
    });
  }

  #fileAt(name: string): WatchedFile {
    const known = this.#files.get(name);
    if (known !== undefined) return known;
    const options = this.#options;
    const tell = async (news: FileNews): Promise<void> => {
      await options.tell(news);
      if (news.kind !== "gone") return;
      this.#dropFile(name, file);
      this.#askToBeDropped();
    };
    const file = new WatchedFile(join(this.path, name), {
      ...options,
      tell,
      realDirectory: () => this.#realPath,
    });
    this.#files.set(name, file);
    return file;
  }

  #addChild(name: string): WatchedDirectory | undefined {
    const path = join(this.path, name);
    if (this.#options.budget.directories <= 0) {
      this.#leftOut = path;
      return undefined;
    }
    this.#options.budget.directories--;
    const child = new WatchedDirectory(path, this.#options, this);
    this.#children.set(name, child);
    return child;
  }

  get #isNothing(): boolean {
    return (
      this.#wasScanned && this.#identity === undefined && this.#files.size === 0 && this.#children.size === 0
    );
  }

  #liesIn(identity: string): boolean {
    if (this.#identity === identity) return true;
    return this.#parent !== undefined && this.#parent.#liesIn(identity);
  }

  #dropIfNothing(child: WatchedDirectory): void {
    if (!child.#isNothing || !this.#children.delete(basename(child.path))) return;
    this.#options.budget.directories++;
    void child.close();
    this.#askToBeDropped();
  }

  #askToBeDropped(): void {
    if (this.#parent !== undefined) this.#parent.#dropIfNothing(this);
  }

  #dropFile(name: string, file: WatchedFile): void {
    void file.close();
    if (this.#files.get(name) === file) this.#files.delete(name);
  }

  #stopWatching(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#identity = undefined;
    this.#targets.close();
  }

  #tellTrouble(error: Error | undefined): void {
    if (error?.message === this.#trouble) return;
    this.#trouble = error?.message;
    this.#options.onTrouble(this, error);
  }
}

async function kindOf(entry: Dirent, path: string): Promise<"file" | "directory" | "other"> {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  try {
    const target = await stat(path);
    return target.isFile() ? "file" : target.isDirectory() ? "directory" : "other";
  } catch (error) {
    // A link that leads nowhere is nothing; of one that can't be followed the file itself will say why.
    return isAbsence(error) ? "other" : "file";
  }
}
