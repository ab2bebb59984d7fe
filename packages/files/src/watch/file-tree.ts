import { realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import {
  readListing,
  updateListing,
  type DirectoryListing,
  type FilesOfInterest,
} from "./directory-listing.js";
import { fileIdentityOf, isNotFound, isPseudo, toError, type FileStamp } from "./file-stamp.js";
import { Homes } from "./homes.js";
import { mountOf, readMounts, type Mounts } from "./mounts.js";
import type { TreeChanges } from "./tree-changes.js";

/** What a scan found. */
export interface TreeScan {
  /** The paths that were examined, and the files whose directory is gone or was read again. */
  readonly examined: ReadonlySet<string>;
  /** Directories that can't be read, so their content is unknown. */
  readonly unreadable: ReadonlyMap<string, Error>;
  /** Directories that were left out, by the reason. */
  readonly leftOut: ReadonlyMap<string, readonly string[]>;
  /** True if directories are gone, so that the next scan has room for some of those left out. */
  readonly hasRoomNow: boolean;
}

interface Visit {
  readonly path: string;
  /** Its parent was read again, so it may be another directory than before. */
  readonly isChanged: boolean;
  readonly isLinked: boolean;
}

/**
 * What is known of all files below a directory. A scan walks the tree in memory, and asks the file system only about what changed.
 *
 * Symbolic links are followed, but each directory is entered once, by a path without links if there is one.
 */
export class FileTree {
  readonly #root: string;
  readonly #interest: FilesOfInterest;
  readonly #maxDirectories: number;
  readonly #homes: Homes;
  #listings: ReadonlyMap<string, DirectoryListing> = new Map();
  #paths: ReadonlyMap<string, string> = new Map();
  #targets: ReadonlySet<string> = new Set();

  constructor(root: string, interest: FilesOfInterest, maxDirectories: number) {
    this.#root = root;
    this.#interest = interest;
    this.#maxDirectories = maxDirectories;
    this.#homes = new Homes(root);
  }

  /** The directories that were entered. */
  get directories(): Iterable<DirectoryListing> {
    return this.#listings.values();
  }

  /** Where the files are that links lead to: real paths. */
  get targets(): Iterable<string> {
    return this.#targets;
  }

  /** The file at the path when it was last examined. */
  at(path: string): FileStamp | Error | undefined {
    return this.#listings.get(dirname(path))?.files.get(path);
  }

  /** Adds the change of an event: something of this name in a directory, or the whole directory. */
  addEvent(changes: TreeChanges, realDirectory: string, name?: string): void {
    const directory = this.#paths.get(realDirectory);
    const path = directory === undefined || name === undefined ? directory : join(directory, name);
    if (path !== undefined) changes.add(path);
    const file = path === undefined ? undefined : this.at(path);
    // Any link may lead by way of anything but a plain file.
    const isPlainFile = file !== undefined && !(file instanceof Error) && !file.isLink;
    if (!isPlainFile || this.#targets.has(file.realPath)) changes.addLinks();
  }

  /** @throws why the root directory can't be read, or that its files are away with their volume; nothing is known of the tree then. */
  async scan(changes: TreeChanges): Promise<TreeScan> {
    const former = this.#listings;
    const listings = new Map<string, DirectoryListing>();
    const examined = new Set<string>();
    const unreadable = new Map<string, Error>();
    const leftOut = new Map<string, string[]>();
    const entered = new Set<string>();
    let room = this.#maxDirectories + 1 - former.size;
    const omit = (path: string, reason: string): void => {
      const paths = leftOut.get(reason);
      if (paths === undefined) leftOut.set(reason, [path]);
      else paths.push(path);
    };
    const plain: Visit[] = [{ path: this.#root, isChanged: changes.isAll, isLinked: false }];
    const linked: Visit[] = [];
    let rootDevice = 0n;
    let rootPath = "";
    let mounts: Mounts | undefined;
    const visits = function* (): Generator<Visit> {
      // Arrays that grow while they are walked.
      let next = 0;
      let nextLinked = 0;
      for (;;) {
        const visit = plain[next] === undefined ? linked[nextLinked++] : plain[next++];
        if (visit === undefined) return;
        yield visit;
      }
    };
    for (const { path, isLinked, ...visit } of visits()) {
      try {
        const isRoot = path === this.#root;
        const before = former.get(path);
        let isChanged = visit.isChanged || changes.in(dirname(path)).has(path);
        let listing = before;
        if (before === undefined && room <= 0 && !isLinked) {
          omit(path, tooMany);
          continue;
        }
        const mayHaveChanged = isChanged || (isLinked && changes.isOfLinks) || changes.in(path).size > 0;
        if (before === undefined || isRoot || mayHaveChanged) {
          const stats = await stat(path, { bigint: true });
          if (!stats.isDirectory()) throw notDirectory(path);
          const identity = fileIdentityOf(stats);
          const real = await realpath(path);
          const isSame = before?.identity === identity && before.realPath === real;
          if (!isSame) mounts ??= await readMounts();
          const fileSystem = isSame
            ? before.fileSystem
            : `${stats.dev}:${mountOf(real, mounts ?? new Map())}`;
          const self = { identity, realPath: real, fileSystem };
          if (entered.has(identity)) continue;
          if (isRoot) {
            rootDevice = stats.dev;
            rootPath = self.realPath;
          } else if (join(rootPath, sep).startsWith(join(self.realPath, sep))) {
            omit(path, "they lead to directories that hold the flag directory");
            continue;
          } else if (stats.dev !== rootDevice && (await isPseudo(path))) {
            omit(path, "they are in a file system of the kernel");
            continue;
          }
          if (before === undefined && --room < 0) {
            omit(path, tooMany);
            continue;
          }
          if (!isSame) isChanged = true;
          if (isChanged) listing = await readListing(path, self, this.#interest);
        }
        if (listing === undefined || entered.has(listing.identity)) continue;
        entered.add(listing.identity);
        listings.set(path, listing);
        if (listing === before) {
          const paths = new Set([...changes.in(path), ...(changes.isOfLinks ? listing.links : [])]);
          if (paths.size > 0) await updateListing(listing, paths, this.#interest);
          for (const one of paths) examined.add(one);
        } else {
          for (const one of listing.files.keys()) examined.add(one);
        }
        for (const child of listing.directories) plain.push({ path: child, isChanged, isLinked: false });
        for (const child of [...listing.linkedDirectories].sort())
          linked.push({ path: child, isChanged, isLinked: true });
      } catch (error) {
        if (path === this.#root) {
          this.#take(new Map());
          throw error;
        }
        if (!isNotFound(error)) unreadable.set(path, toError(error));
      }
    }
    let isAnyGone = false;
    for (const [path, listing] of former) {
      if (listings.get(path) === listing) continue;
      for (const one of listing.files.keys()) examined.add(one);
      if (!listings.has(path)) isAnyGone = true;
    }
    this.#take(listings);
    for (const path of this.#homes.update(listings, unreadable.keys())) {
      if (path === this.#root) throw awayError(path);
      unreadable.set(path, awayError(path));
    }
    return { examined, unreadable, leftOut, hasRoomNow: isAnyGone && leftOut.has(tooMany) };
  }

  #take(listings: ReadonlyMap<string, DirectoryListing>): void {
    const paths = new Map<string, string>();
    const targets = new Set<string>();
    for (const [path, { realPath, links, files }] of listings) {
      paths.set(realPath, path);
      for (const link of links) {
        const found = files.get(link);
        if (found !== undefined && !(found instanceof Error)) targets.add(found.realPath);
      }
    }
    this.#listings = listings;
    this.#paths = paths;
    this.#targets = targets;
  }
}

const tooMany = "there are too many directories";

function awayError(path: string): Error {
  return new Error(
    `${path} holds nothing that is read, and is in another file system than before, as when a volume was unmounted: mount it again; to delete what was there, delete it in the volume, or restart`,
  );
}

function notDirectory(path: string): Error {
  return Object.assign(new Error(`ENOTDIR: ${path} is not a directory`), { code: "ENOTDIR" });
}
