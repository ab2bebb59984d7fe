import { stat } from "node:fs/promises";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { sleep, type Clock, type Runnable } from "@bunting/runtime";
import { directoryIdentity, DirectoryWatch } from "./directory-watch.js";
import type { FileNews } from "./file-news.js";
import { OneAtATime } from "./one-at-a-time.js";
import { WatchedDirectory } from "./watched-directory.js";

export interface FileTreeOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly listener: FileTreeListener;
  /** Whether a file of this name is one of ours. */
  accepts(name: string): boolean;
  /** Whether sub-directories are watched too. */
  readonly descends: boolean;
  /** A larger file is not read. */
  readonly maxBytes: number;
  readonly maxDirectories?: number;
  /** How often everything is looked at although no event came. */
  readonly rescanEveryMs?: number;
}

export interface FileTreeListener {
  /** What became of a file. The next news of the same file wait for the promise. */
  news(news: FileNews): Promise<void>;
  /** All files that were there at the start have been told, or are still being written after a second. Told once. */
  synced(): void;
  /** There is no such directory, or it can't be read: nothing is known of its files until `found`. */
  lost(error: Error): void;
  found(): void;
  /** A directory can't be read or watched as it should; the files that are known stay. */
  trouble(path: string, error: Error): void;
}

/** How long the first scan waits for files that are just being written. */
const firstRestMs = 1_000;

/**
 * All files below one directory, whether the directory is there or not. The root's own coming and going makes no event in it, so
 * its parent is watched as well, or the nearest ancestor that exists. A root that vanished proves nothing about its files: they
 * are told gone only while it is there.
 */
export class FileTree implements Runnable {
  readonly name = "files";
  readonly #options: FileTreeOptions;
  readonly #path: string;
  readonly #root: WatchedDirectory;
  readonly #checking = new OneAtATime(() => this.#check());
  #above: { readonly path: string; readonly watch: DirectoryWatch } | undefined;
  #isLost = false;
  #syncing: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor(options: FileTreeOptions) {
    const { clock, listener, maxBytes, descends } = options;
    this.#options = options;
    this.#path = resolve(options.path);
    this.#root = new WatchedDirectory(this.#path, {
      clock,
      maxBytes,
      accepts: (name) => options.accepts(name),
      descends,
      budget: { directories: options.maxDirectories ?? 1_024 },
      tell: (news) => listener.news(news),
      mayBeGone: () => isDirectory(this.#path),
      onTrouble: (directory, error) => this.#onTrouble(directory, error),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, rescanEveryMs = 30_000 } = this.#options;
    while (!signal.aborted) {
      await this.#checking.request();
      await sleep(rescanEveryMs, signal, clock);
    }
    this.#closing.abort();
    await this.#checking.idle();
    await this.#syncing;
    this.#above?.watch.close();
    await this.#root.close();
  }

  async #check(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    await this.#watchAbove();
    await this.#root.rescan(this.#options.clock.monotonicMs(), true);
    if (this.#root.isListed) this.#syncing ??= this.#sync();
  }

  async #sync(): Promise<void> {
    const giveUp = new AbortController();
    const { signal } = this.#closing;
    const waited = sleep(firstRestMs, AbortSignal.any([signal, giveUp.signal]), this.#options.clock);
    const outcomes = Promise.all([...this.#root.files()].map((file) => file.outcome));
    await Promise.race([outcomes, waited]);
    giveUp.abort();
    if (!signal.aborted) this.#options.listener.synced();
  }

  /** Watches the nearest ancestor that exists; when a nearer one comes into being, that one. */
  async #watchAbove(): Promise<void> {
    try {
      for (;;) {
        const path = await nearestAncestor(this.#path);
        const isSame =
          this.#above?.path === path && this.#above.watch.identity === (await directoryIdentity(path));
        if (isSame) return;
        this.#above?.watch.close();
        this.#above = undefined;
        const next = relative(path, this.#path).split(sep)[0];
        const listener = (_kind: string, name: string | null): void => {
          if (name === null || name === next || name === basename(path)) this.#recheck();
        };
        this.#above = { path, watch: await DirectoryWatch.open(path, listener, () => this.#recheck()) };
      }
    } catch {
      // Not permitted, or no watches left: a root that is replaced is then noticed by the periodic re-scan.
    }
  }

  #recheck(): void {
    if (!this.#closing.signal.aborted) void this.#checking.request();
  }

  #onTrouble(directory: WatchedDirectory, error: Error | undefined): void {
    const { listener } = this.#options;
    if (directory === this.#root) {
      const wasLost = this.#isLost;
      this.#isLost = !directory.isListed;
      if (this.#isLost && error !== undefined) {
        listener.lost(error);
        this.#recheck();
        return;
      }
      if (wasLost) listener.found();
    }
    if (error !== undefined) listener.trouble(directory.path, error);
  }
}

async function nearestAncestor(path: string): Promise<string> {
  let above = dirname(path);
  while (!(await isDirectory(above)) && above !== dirname(above)) above = dirname(above);
  return above;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
