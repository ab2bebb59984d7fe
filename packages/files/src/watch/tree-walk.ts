import { realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import {
  readListing,
  TooManyFilesError,
  updateListing,
  type DirectoryLimits,
  type DirectoryListing,
  type FilesOfInterest,
} from "./directory-listing.js";
import { fileIdentityOf, isNotFound, isPseudo, toError } from "./file-stamp.js";
import { mountOf, readMounts, type Mounts } from "./mounts.js";
import type { TreeChanges } from "./tree-changes.js";

/** What a walk starts from. */
export interface WalkOptions {
  readonly root: string;
  readonly interest: FilesOfInterest;
  readonly changes: TreeChanges;
  /** The directories of the walk before, by path. */
  readonly former: ReadonlyMap<string, DirectoryListing>;
  /** Directories that may be entered beside those of the walk before. */
  readonly room: number;
  readonly limits: DirectoryLimits;
}

/** The reason of what is left out for want of room. */
export const tooManyDirectories = "there are too many directories";

/** A directory to be looked at. */
interface Visit {
  readonly path: string;
  /** Its parent was read again, so it may be another directory than before. */
  readonly isChanged: boolean;
  readonly isLinked: boolean;
}

type DirectoryIdentity = Pick<DirectoryListing, "identity" | "realPath" | "fileSystem">;

/**
 * One walk through the directories of a tree. All that plain paths lead to comes before what links lead to, so that a directory is entered by a
 * path without links if there is one. What has not changed since the walk before is taken from that.
 */
export class TreeWalk {
  /** The directories that were entered, by path. */
  readonly listings = new Map<string, DirectoryListing>();
  readonly examined = new Set<string>();
  readonly unreadable = new Map<string, Error>();
  readonly leftOut = new Map<string, string[]>();
  readonly #options: WalkOptions;
  /** Identities of the directories that were entered. */
  readonly #entered = new Set<string>();
  readonly #plain: Visit[];
  readonly #linked: Visit[] = [];
  #room: number;
  #files = 0;
  #bytes = 0;
  #root = { device: 0n, realPath: "" };
  #mounts: Mounts | undefined;

  constructor(options: WalkOptions) {
    this.#options = options;
    this.#room = options.room;
    this.#plain = [{ path: options.root, isChanged: options.changes.isAll, isLinked: false }];
  }

  /** @throws why the root directory can't be read. */
  async walk(): Promise<void> {
    // Both grow while they are walked.
    let next = 0;
    let nextLinked = 0;
    for (;;) {
      const visit = this.#plain[next] === undefined ? this.#linked[nextLinked++] : this.#plain[next++];
      if (visit === undefined) return;
      try {
        await this.#visit(visit);
      } catch (error) {
        if (visit.path === this.#options.root || error instanceof TooManyFilesError) throw error;
        if (!isNotFound(error)) this.unreadable.set(visit.path, toError(error));
      }
    }
  }

  async #visit(visit: Visit): Promise<void> {
    const { path, isLinked } = visit;
    const { changes, former, root } = this.#options;
    const before = former.get(path);
    const isChanged = visit.isChanged || changes.in(dirname(path)).has(path);
    if (before === undefined && this.#room <= 0 && !isLinked) {
      this.#omit(path, tooManyDirectories);
      return;
    }
    const mayHaveChanged = isChanged || (isLinked && changes.isOfLinks) || changes.in(path).size > 0;
    if (before !== undefined && path !== root && !mayHaveChanged)
      return this.#enter(visit, before, isChanged);
    const self = await this.#identify(path, before);
    if (self === undefined || this.#entered.has(self.identity)) return;
    if (before === undefined && --this.#room < 0) {
      this.#omit(path, tooManyDirectories);
      return;
    }
    const isOther = before?.identity !== self.identity || before.realPath !== self.realPath;
    const isRead = isChanged || isOther;
    const { interest, limits } = this.#options;
    const listing = isRead ? await readListing(path, self, interest, limits.maxFiles) : before;
    return this.#enter(visit, listing, isRead);
  }

  /** The directory that is at the path now; undefined if it must not be entered. */
  async #identify(
    path: string,
    before: DirectoryListing | undefined,
  ): Promise<DirectoryIdentity | undefined> {
    const stats = await stat(path, { bigint: true });
    if (!stats.isDirectory()) throw notDirectory(path);
    const identity = fileIdentityOf(stats);
    const real = await realpath(path);
    if (path === this.#options.root) this.#root = { device: stats.dev, realPath: real };
    else if (this.#entered.has(identity)) return undefined;
    else if (join(this.#root.realPath, sep).startsWith(join(real, sep))) {
      this.#omit(path, "they lead to directories that hold the flag directory");
      return undefined;
    } else if (stats.dev !== this.#root.device && (await isPseudo(path))) {
      this.#omit(path, "they are in a file system of the kernel");
      return undefined;
    }
    const isSame = before?.identity === identity && before.realPath === real;
    if (isSame) return { identity, realPath: real, fileSystem: before.fileSystem };
    this.#mounts ??= await readMounts();
    return { identity, realPath: real, fileSystem: `${stats.dev}:${mountOf(real, this.#mounts)}` };
  }

  /** @param isRead Its directories may be others than before. */
  async #enter({ path }: Visit, listing: DirectoryListing, isRead: boolean): Promise<void> {
    const { changes, former, interest } = this.#options;
    if (this.#entered.has(listing.identity)) return;
    this.#entered.add(listing.identity);
    this.listings.set(path, listing);
    if (listing === former.get(path)) {
      const paths = new Set([...changes.in(path), ...(changes.isOfLinks ? listing.links : [])]);
      if (paths.size > 0) await updateListing(listing, paths, interest);
      for (const one of paths) this.examined.add(one);
    } else {
      for (const one of listing.files.keys()) this.examined.add(one);
    }
    this.#count(listing);
    for (const child of listing.misnamed) this.#omit(child, "there are bytes in the name that are no UTF-8");
    for (const child of listing.directories)
      this.#plain.push({ path: child, isChanged: isRead, isLinked: false });
    for (const child of [...listing.linkedDirectories].sort())
      this.#linked.push({ path: child, isChanged: isRead, isLinked: true });
  }

  #count({ files }: DirectoryListing): void {
    const { maxBytes, maxFiles = Infinity, maxTotalBytes } = this.#options.limits;
    this.#files += files.size;
    if (this.#files > maxFiles) throw new TooManyFilesError(`${maxFiles} files`);
    if (maxTotalBytes === undefined) return;
    for (const file of files.values())
      if (!(file instanceof Error) && file.size <= maxBytes) this.#bytes += file.size;
    if (this.#bytes > maxTotalBytes) throw new TooManyFilesError(`${maxTotalBytes} bytes in its files`);
  }

  #omit(path: string, reason: string): void {
    const paths = this.leftOut.get(reason);
    if (paths === undefined) this.leftOut.set(reason, [path]);
    else paths.push(path);
  }
}

function notDirectory(path: string): Error {
  return Object.assign(new Error(`ENOTDIR: ${path} is not a directory`), { code: "ENOTDIR" });
}
