import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { sleep, startSleep, systemClock, type Clock, type Runnable } from "@bunting/runtime";
import type { FileListener } from "./file-event.js";
import { toError } from "./file-stamp.js";
import { scanTree, type FilesOfInterest, type TreeScan } from "./scan-tree.js";
import { TrackedFile, type ScanResult } from "./tracked-file.js";
import { WatchSet } from "./watch-set.js";

export interface WatchedDirectoryOptions {
  readonly path: string;
  /** The files of interest: those with an accepted name in the whole tree, or one file of the directory. */
  readonly files: FilesOfInterest;
  readonly clock: Clock;
  readonly listener: FileListener;
  /** A larger file is not read. */
  readonly maxBytes: number;
  /** More directories below are not entered. Default: 1,024. */
  readonly maxDirectories?: number;
  /** How often everything is scanned although no event came. Default: 30,000. */
  readonly rescanEveryMs?: number;
}

/**
 * However many events come, scans take no more than a fifth of a core: after one that took 2 ms of CPU time, the next begins 8 ms later.
 * The same thread serves applications.
 */
const idleShare = 4;

/** How long `synced` waits for files that are just being written. */
const syncWithinMs = 1_000;

/**
 * The files of a directory and of those below it, or one file, whether there is such a directory or not.
 *
 * Events only trigger a scan, whose result counts: so neither merged nor lost events leave anything behind.
 * Scans, reads and calls of the listener come one after the other. Files are reported gone only while their directory exists.
 */
export class WatchedDirectory implements Runnable {
  readonly name = "files";
  readonly #options: WatchedDirectoryOptions;
  readonly #path: string;
  readonly #files = new Map<string, TrackedFile>();
  readonly #watches = new WatchSet(() => this.#scanSoon());
  #directories: ReadonlyMap<string, string> = new Map();
  #errors: ReadonlyMap<string, string> = new Map();
  #lost: string | undefined;
  #syncByMs: number | undefined;
  #hasSynced = false;
  #rescanMs = -Infinity;
  #idleUntilMs = -Infinity;
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
        await this.#nextScan(signal);
      }
    } finally {
      this.#watches.close();
    }
  }

  /** Reports every file again. */
  forget(): void {
    for (const file of this.#files.values()) file.forget(this.#options.clock.monotonicMs());
    this.#scanSoon();
  }

  async #scan(signal: AbortSignal): Promise<void> {
    const { clock, listener, files, maxDirectories = 1_024, rescanEveryMs = 30_000 } = this.#options;
    const startMs = clock.monotonicMs();
    const isRescan = startMs >= this.#rescanMs;
    if (isRescan) this.#rescanMs = startMs + rescanEveryMs;
    const usage = process.cpuUsage();
    const scan = await scanTree(this.#path, files, this.#directories, maxDirectories).catch(toError);
    const { user, system } = process.cpuUsage(usage);
    this.#idleUntilMs = systemClock.monotonicMs() + (idleShare * (user + system)) / 1_000;
    const nowMs = clock.monotonicMs();
    if (scan instanceof Error) {
      if (scan.message !== this.#lost) listener.lost(scan);
      this.#lost = scan.message;
      this.#directories = new Map();
      await this.#watch(new Map());
      return;
    }
    if (this.#lost !== undefined) listener.found();
    this.#lost = undefined;
    this.#directories = scan.directories;
    const unwatched = await this.#watch(scan.files);
    this.#reportErrors(scan, unwatched);
    await this.#updateFiles(scan, nowMs, isRescan, signal);
    if (!signal.aborted) this.#reportSynced();
  }

  async #updateFiles(scan: TreeScan, nowMs: number, isRescan: boolean, signal: AbortSignal): Promise<void> {
    for (const path of scan.files.keys()) {
      if (!this.#files.has(path)) this.#files.set(path, new TrackedFile(path, this.#options.maxBytes));
    }
    const results = [...this.#files.values()].map((file): readonly [TrackedFile, ScanResult] => {
      return [file, scan.files.get(file.path) ?? errorAbove(file.path, scan.unreadable)];
    });
    // By path, so that every start ends the same; what is gone comes last, since it may only have moved.
    const rank = ([file, found]: (typeof results)[number]): string =>
      `${found === undefined ? 1 : 0}${file.path}`;
    results.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    for (const [file, found] of results) {
      if (signal.aborted) return;
      const event = await file.update(found, nowMs, isRescan);
      if (event !== undefined && (await this.#options.listener.event(event)) === "retry") file.retry();
      if (file.isForgotten) this.#files.delete(file.path);
    }
  }

  #reportErrors({ unreadable, leftOut }: TreeScan, unwatched: ReadonlyMap<string, Error>): void {
    const errors = new Map([...unwatched, ...unreadable]);
    for (const path of leftOut)
      errors.set(path, new Error(`${path} is not read: there are too many directories`));
    for (const [path, error] of errors) {
      if (this.#errors.get(path) !== error.message) this.#options.listener.directoryError(path, error);
    }
    this.#errors = new Map([...errors].map(([path, { message }]) => [path, message]));
  }

  #reportSynced(): void {
    if (this.#hasSynced) return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#syncByMs ??= nowMs + syncWithinMs;
    const isResting = [...this.#files.values()].some(({ restedMs }) => restedMs !== undefined);
    if (isResting && nowMs < this.#syncByMs) return;
    this.#hasSynced = true;
    this.#options.listener.synced();
  }

  /**
   * Watches the directories, and by name what lies outside of them and matters: targets of links, which make no event where the link is,
   * and the root directory itself. Returns why some can't be watched.
   */
  async #watch(files: TreeScan["files"]): Promise<ReadonlyMap<string, Error>> {
    const wanted = new Map<string, Set<string> | undefined>();
    for (const realPath of this.#directories.values()) wanted.set(realPath, undefined);
    const add = (directory: string, name: string): void => {
      if (!wanted.has(directory)) wanted.set(directory, new Set());
      wanted.get(directory)?.add(name);
    };
    for (const found of files.values()) {
      if (!(found instanceof Error) && found.isLink) add(dirname(found.realPath), basename(found.realPath));
    }
    const above = await nearestAncestor(this.#path);
    const [name] = relative(above, this.#path).split(sep);
    if (name !== undefined && name !== "") add(above, name);
    const { isNew, errors } = await this.#watches.set(wanted);
    if (isNew) this.#isScanWanted = true;
    return errors;
  }

  /** Waits until something happened, or something is due. */
  async #nextScan(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      if (this.#isScanWanted) {
        const idleMs = this.#idleUntilMs - systemClock.monotonicMs();
        if (idleMs > 0) await sleep(idleMs, signal);
        return;
      }
      // While the directory is lost, no file can be read, however long it has been stable.
      const resting = this.#lost === undefined ? [...this.#files.values()] : [];
      const rests = resting.map(({ restedMs }) => restedMs ?? Infinity);
      const dueMs = rests.reduce((a, b) => Math.min(a, b), this.#rescanMs);
      const delayMs = dueMs - clock.monotonicMs();
      if (delayMs <= 0) return;
      const { ended, wake } = startSleep(delayMs, signal, clock);
      this.#wake = wake;
      await ended;
    }
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
