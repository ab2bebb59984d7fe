import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { sleep, startSleep, systemClock, type Clock, type Runnable } from "@bunting/runtime";
import type { FileListener } from "./file-event.js";
import { toError } from "./file-stamp.js";
import type { DirectoryLimits, FilesOfInterest } from "./directory-listing.js";
import { FileTree, type TreeScan } from "./file-tree.js";
import { PendingFiles } from "./pending-files.js";
import { isSettled, TrackedFile } from "./tracked-file.js";
import { TreeChanges } from "./tree-changes.js";
import { WatchSet, type WantedWatch } from "./watch-set.js";

export interface WatchedDirectoryOptions {
  readonly path: string;
  /** The files of interest: those with an accepted name in the whole tree, or one file of the directory. */
  readonly files: FilesOfInterest;
  readonly clock: Clock;
  readonly listener: FileListener;
  readonly limits: DirectoryLimits;
  /** How often everything is scanned although no event came. Default: 30,000. */
  readonly rescanEveryMs?: number;
}

/** How long the thread, which also serves applications, is left alone after a scan: as long as the scan took, within these. */
const minIdleMs = 10;
const maxIdleMs = 50;

/** How long `synced` waits for files that are just being written. */
const syncWithinMs = 1_000;

/** The way to `synced`: the first scan, then each file that it found. */
type SyncState =
  | { readonly kind: "scanning" | "synced" }
  | { readonly kind: "reporting"; readonly unreported: Set<TrackedFile>; readonly byMs: number };

/**
 * The files of a directory and of those below it, or one file, whether there is such a directory or not.
 *
 * An event names only what to examine again, and the result counts: merged events leave nothing behind, lost ones are made up for by
 * the periodic re-scan. Scans, reads and calls of the listener come one after the other, and what changed meanwhile is examined before the
 * next file is read. Files are reported gone only while their directory exists, and is no empty one in another file system.
 */
export class WatchedDirectory implements Runnable {
  readonly name = "files";
  readonly #options: WatchedDirectoryOptions;
  readonly #path: string;
  readonly #tree: FileTree;
  readonly #files = new Map<string, TrackedFile>();
  readonly #pending = new PendingFiles();
  readonly #watches = new WatchSet((...event) => {
    this.#tree.addEvent(this.#changes, ...event);
    this.#wake();
  });
  #changes = new TreeChanges();
  #errors: ReadonlyMap<string, string> = new Map();
  #lost: string | undefined;
  /** The last scan could not read a directory: files below it may be gone with it. */
  #wasUnreadable = false;
  #sync: SyncState = { kind: "scanning" };
  #rescanMs = -Infinity;
  /** On the system's clock, whatever the clock of the options is: it spares the thread of this process. */
  #idleUntilMs = -Infinity;
  #wake: () => void = () => undefined;

  constructor(options: WatchedDirectoryOptions) {
    this.#options = options;
    this.#path = resolve(options.path);
    this.#tree = new FileTree(this.#path, options.files, options.limits);
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        this.#reportSynced();
        // While the directory is lost, no file can be read.
        const file = this.#lost === undefined ? this.#pending.first() : undefined;
        if (this.#isScanDue && this.#idleMs <= 0) await this.#scan();
        else if (file !== undefined) await this.#handle(file);
        else await this.#wait(signal);
      }
    } finally {
      this.#watches.close();
    }
  }

  /** Reports every file again. */
  forget(): void {
    for (const file of this.#files.values()) {
      file.forget(this.#options.clock.monotonicMs());
      this.#sort(file);
    }
    this.#wake();
  }

  async #scan(): Promise<void> {
    const { clock, listener, rescanEveryMs = 30_000 } = this.#options;
    const changes = this.#changes;
    this.#changes = new TreeChanges();
    const beganMs = clock.monotonicMs();
    const isRescan = beganMs >= this.#rescanMs;
    if (isRescan) {
      this.#rescanMs = beganMs + rescanEveryMs;
      changes.addAll();
    }
    const rested = [...this.#pending.resting].filter(({ restedMs = Infinity }) => restedMs <= beganMs);
    for (const { path } of rested) changes.add(path);
    const startMs = systemClock.monotonicMs();
    const scan = await this.#tree.scan(changes).catch(toError);
    const endMs = systemClock.monotonicMs();
    this.#idleUntilMs = endMs + Math.min(maxIdleMs, Math.max(minIdleMs, endMs - startMs));
    const endedMs = clock.monotonicMs();
    if (scan instanceof Error) {
      if (scan.message !== this.#lost) listener.lost(scan);
      this.#lost = scan.message;
      await this.#watch();
      return;
    }
    const wasLost = this.#lost !== undefined;
    if (wasLost) listener.found();
    this.#lost = undefined;
    this.#reportErrors(scan, await this.#watch());
    const isAll = isRescan || wasLost || this.#wasUnreadable || scan.unreadable.size > 0;
    this.#wasUnreadable = scan.unreadable.size > 0;
    const paths = new Set(isAll ? this.#files.keys() : rested.map(({ path }) => path));
    for (const path of scan.examined) paths.add(path);
    // All or none: they are reported in the order of their paths.
    const areSettled =
      this.#sync.kind === "scanning" &&
      [...paths].every((path) => isSettled(this.#tree.at(path), clock.now()));
    for (const path of paths) {
      const found = this.#tree.at(path) ?? errorAbove(path, scan.unreadable);
      const file = this.#files.get(path) ?? new TrackedFile(path, this.#options.limits.maxBytes);
      if (found === undefined && !this.#files.has(path)) continue;
      this.#files.set(path, file);
      file.note(found, { beganMs, endedMs, isRescan, areSettled, isRenamed: changes.renamed.has(path) });
      this.#sort(file);
    }
    if (scan.hasRoomNow) this.#changes.addLinks();
    if (this.#sync.kind !== "scanning") return;
    const unreported = new Set(this.#files.values());
    this.#sync = { kind: "reporting", unreported, byMs: endedMs + syncWithinMs };
  }

  async #handle(file: TrackedFile): Promise<void> {
    const { clock, listener } = this.#options;
    const event = await file.event(clock.monotonicMs(), () => this.#changes.has(file.path));
    if (event !== undefined && (await listener.event(event)) === "retry") file.retry();
    this.#reported(file);
    this.#sort(file);
  }

  #sort(file: TrackedFile): void {
    this.#pending.sort(file);
    if (!file.isForgotten) return;
    this.#files.delete(file.path);
    this.#reported(file);
  }

  #reported(file: TrackedFile): void {
    if (this.#sync.kind === "reporting") this.#sync.unreported.delete(file);
  }

  #reportErrors({ unreadable, leftOut }: TreeScan, unwatched: ReadonlyMap<string, Error>): void {
    const { listener } = this.#options;
    const errors = new Map([...unwatched, ...unreadable]);
    for (const [path, error] of errors) {
      if (this.#errors.get(path) !== error.message) listener.directoryError(path, error);
    }
    const reported = new Map([...errors].map(([path, { message }]) => [path, message]));
    for (const [reason, [path = "", ...more]] of leftOut) {
      reported.set(reason, reason);
      if (this.#errors.has(reason)) continue;
      const paths = more.length === 0 ? path : `${path} and ${more.length} more`;
      listener.directoryError(path, new Error(`not read: ${paths}, because ${reason}`));
    }
    this.#errors = reported;
  }

  #reportSynced(): void {
    if (this.#sync.kind !== "reporting" || this.#lost !== undefined) return;
    const isLate = this.#options.clock.monotonicMs() >= this.#sync.byMs;
    for (const file of this.#sync.unreported) if (!isLate || file.isReady) return;
    this.#sync = { kind: "synced" };
    this.#pending.putSmallFirst();
    this.#options.listener.synced();
  }

  /**
   * Watches the directories, and by name what lies outside of them and matters: targets of links, which make no event where the link is,
   * and the root directory itself. Returns why some can't be watched.
   */
  async #watch(): Promise<ReadonlyMap<string, Error>> {
    const wanted = new Map<string, WantedWatch>();
    for (const { realPath, identity } of this.#tree.directories) wanted.set(realPath, { identity });
    const add = (directory: string, name: string): void => {
      if (!wanted.has(directory)) wanted.set(directory, { names: new Set() });
      wanted.get(directory)?.names?.add(name);
    };
    for (const target of this.#tree.targets) add(dirname(target), basename(target));
    const above = await nearestAncestor(this.#path);
    const [name] = relative(above, this.#path).split(sep);
    if (name !== undefined && name !== "") add(above, name);
    const { opened, errors } = await this.#watches.set(wanted);
    for (const directory of opened) this.#tree.addEvent(this.#changes, directory);
    return errors;
  }

  get #isScanDue(): boolean {
    return !this.#changes.isEmpty || this.#dueMs <= this.#options.clock.monotonicMs();
  }

  /** When something is to be examined although nothing happened. */
  get #dueMs(): number {
    // While the directory is lost, nothing rests.
    return this.#lost === undefined ? Math.min(this.#rescanMs, this.#pending.restedMs) : this.#rescanMs;
  }

  get #idleMs(): number {
    return this.#idleUntilMs - systemClock.monotonicMs();
  }

  /** Waits until a scan may be due. */
  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#isScanDue) {
      if (this.#idleMs > 0) await sleep(this.#idleMs, signal);
      return;
    }
    const { clock } = this.#options;
    const { ended, wake } = startSleep(this.#dueMs - clock.monotonicMs(), signal, clock);
    this.#wake = wake;
    await ended;
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
