import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Clock, Runnable } from "@bunting/runtime";
import type { FileListener } from "./file-event.js";
import { toError } from "./file-stamp.js";
import { Listing } from "./listing.js";
import { TargetWatches } from "./target-watches.js";
import { TrackedFile, type Found } from "./tracked-file.js";
import { TreeScan, type TreeScanOptions } from "./tree-scan.js";

export interface WatchedDirectoryOptions {
  readonly path: string;
  /** The files of interest: those with an accepted name in the whole tree, or one file of the directory. */
  readonly files: TreeScanOptions["files"];
  readonly clock: Clock;
  readonly listener: FileListener;
  /** A larger file is not read. */
  readonly maxBytes: number;
  /** More directories below are not entered. Default: 1,024. */
  readonly maxDirectories?: number;
  /** How often everything is looked at although no event came. Default: 30,000. */
  readonly rescanEveryMs?: number;
}

/** How long `synced` waits for files that are just being written. */
const syncWithinMs = 1_000;

/**
 * The files of a directory and of those below it, or one file, whether there is such a directory or not.
 *
 * Events only say where to look: what counts is what the next scan finds, so neither merged nor lost events leave anything behind.
 * Scans, reads and calls of the listener come one after the other. A directory that vanished proves nothing about its files: they are
 * told gone only while it is there.
 *
 * Symbolic links are followed, but each directory is entered once, by a path without links if there is one. Names that start with a dot
 * are skipped: in a ConfigMap mount they hold the same files once more, and elsewhere what editors and rsync write before they rename.
 */
export class WatchedDirectory implements Runnable {
  readonly name = "files";
  readonly #options: WatchedDirectoryOptions;
  readonly #path: string;
  readonly #files = new Map<string, TrackedFile>();
  readonly #targets = new TargetWatches(() => this.#scanSoon());
  #listings: ReadonlyMap<string, Listing> = new Map();
  #errors: ReadonlyMap<string, Error> = new Map();
  #lost: string | undefined;
  #syncByMs: number | undefined;
  #hasSynced = false;
  #rescanMs = -Infinity;
  #isScanWanted = false;
  #wake: () => void = () => undefined;

  constructor(options: WatchedDirectoryOptions) {
    this.#options = options;
    this.#path = resolve(options.path);
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        this.#isScanWanted = false;
        await this.#scan(signal);
        if (await this.#targets.set(await this.#targetNames())) this.#isScanWanted = true;
        await this.#nextScan(signal);
      }
    } finally {
      this.#targets.close();
      for (const listing of this.#listings.values()) listing.close();
    }
  }

  /** Tells everything once more, as if nothing had been told. */
  forget(): void {
    for (const file of this.#files.values()) file.forget(this.#options.clock.monotonicMs());
    this.#scanSoon();
  }

  async #scan(signal: AbortSignal): Promise<void> {
    const { clock, listener, files, maxDirectories = 1_024, rescanEveryMs = 30_000 } = this.#options;
    const startMs = clock.monotonicMs();
    const isRescan = startMs >= this.#rescanMs;
    if (isRescan) this.#rescanMs = startMs + rescanEveryMs;
    const scan = new TreeScan({
      path: this.#path,
      files,
      maxDirectories,
      known: this.#listings,
      createListing: (...place) => new Listing(...place, (path) => this.#onChange(path)),
      isDue: (path) => (this.#files.get(path)?.dueMs ?? Infinity) <= startMs,
      beginLook: (path) => this.#files.get(path)?.beginLook(),
      isForced: isRescan,
    });
    const error = await scan.run().catch(toError);
    const kept = new Set(scan.listings.values());
    for (const listing of this.#listings.values()) if (!kept.has(listing)) listing.close();
    this.#listings = scan.listings;
    if (error !== undefined && error.message !== this.#lost) listener.lost(error);
    else if (error === undefined && this.#lost !== undefined) listener.found();
    this.#lost = error?.message;
    if (error !== undefined) return;
    this.#tellErrors(new Map([...scan.unwatched, ...scan.unreadable]));
    await this.#lookAtFiles(scan, isRescan, signal);
    if (!signal.aborted) this.#tellSynced();
  }

  async #lookAtFiles(scan: TreeScan, isRescan: boolean, signal: AbortSignal): Promise<void> {
    const { clock, listener, maxBytes } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const path of scan.present) {
      if (!this.#files.has(path)) this.#files.set(path, new TrackedFile(path, maxBytes));
    }
    const looks: (readonly [file: TrackedFile, found: Found])[] = [];
    for (const file of this.#files.values()) {
      const found = scan.found.get(file.path);
      if (found !== undefined) looks.push([file, found]);
      else if (!scan.present.has(file.path)) looks.push([file, errorAbove(file.path, scan.unreadable)]);
    }
    // By path, so that every start ends the same; what is gone comes last, since it may only have moved.
    const rank = ([file, found]: (typeof looks)[number]): string =>
      `${found === undefined ? 1 : 0}${file.path}`;
    looks.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    for (const [file, found] of looks) {
      if (signal.aborted) return;
      const event = await file.look(found, nowMs, isRescan);
      if (event !== undefined && (await listener.event(event)) === "retry") file.retry();
      if (file.isNothing) this.#files.delete(file.path);
    }
  }

  #tellErrors(errors: ReadonlyMap<string, Error>): void {
    const before = this.#errors;
    this.#errors = errors;
    for (const [path, error] of errors) {
      if (before.get(path)?.message !== error.message) this.#options.listener.directoryError(path, error);
    }
  }

  #tellSynced(): void {
    if (this.#hasSynced) return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#syncByMs ??= nowMs + syncWithinMs;
    const isResting = [...this.#files.values()].some((file) => file.isResting);
    if (isResting && nowMs < this.#syncByMs) return;
    this.#hasSynced = true;
    this.#options.listener.synced();
  }

  /** What is outside of the watched directories and must be watched too: targets of links, and the root directory itself. */
  async #targetNames(): Promise<Map<string, Set<string>>> {
    const names = new Map<string, Set<string>>();
    const add = (directory: string, name: string): void => {
      const known = names.get(directory);
      if (known === undefined) names.set(directory, new Set([name]));
      else known.add(name);
    };
    const watched = new Set([...this.#listings.values()].map(({ realPath }) => realPath));
    for (const { linkTarget } of this.#files.values()) {
      if (linkTarget === undefined || watched.has(dirname(linkTarget))) continue;
      add(dirname(linkTarget), basename(linkTarget));
    }
    const above = await nearestAncestor(this.#path);
    const [name] = relative(above, this.#path).split(sep);
    if (name !== undefined && name !== "") add(above, name);
    return names;
  }

  /** Waits until something happened, or something is due. */
  async #nextScan(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!this.#isScanWanted && !signal.aborted) {
      const dueMs = [...this.#files.values()].map((file) => file.dueMs ?? Infinity);
      const delayMs = dueMs.reduce((a, b) => Math.min(a, b), this.#rescanMs) - clock.monotonicMs();
      if (delayMs <= 0) return;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          cancel();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const cancel = clock.after(delayMs, done);
        signal.addEventListener("abort", done, { once: true });
        this.#wake = done;
      });
    }
  }

  #onChange(writtenPath: string | undefined): void {
    const file = this.#files.get(writtenPath ?? "");
    file?.note(this.#options.clock.monotonicMs());
    if (file?.isResting === true) this.#wake();
    else this.#scanSoon();
  }

  #scanSoon(): void {
    this.#isScanWanted = true;
    this.#wake();
  }
}

/** Watches one file, whether it and its directory exist or not. */
export function watchedFile(
  path: string,
  options: Omit<WatchedDirectoryOptions, "path" | "files">,
): WatchedDirectory {
  return new WatchedDirectory({ ...options, path: dirname(path), files: { only: basename(path) } });
}

function errorAbove(path: string, errors: ReadonlyMap<string, Error>): Error | undefined {
  for (const [directory, error] of errors) if (path.startsWith(join(directory, sep))) return error;
  return undefined;
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
