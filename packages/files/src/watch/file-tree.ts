import { dirname, join } from "node:path";
import type { DirectoryLimits, DirectoryListing, FilesOfInterest } from "./directory-listing.js";
import type { FileStamp } from "./file-stamp.js";
import { homesBelow } from "./homes.js";
import type { TreeChanges } from "./tree-changes.js";
import { tooManyDirectories, TreeWalk } from "./tree-walk.js";

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

/**
 * What is known of all files below a directory. A scan walks the tree in memory, and asks the file system only about what changed.
 *
 * Symbolic links are followed, but each directory is entered once, by a path without links if there is one.
 */
export class FileTree {
  readonly #root: string;
  readonly #interest: FilesOfInterest;
  readonly #limits: DirectoryLimits;
  readonly #awayIn: ReturnType<typeof homesBelow>;
  #listings: ReadonlyMap<string, DirectoryListing> = new Map();
  #paths: ReadonlyMap<string, string> = new Map();
  #targets: ReadonlySet<string> = new Set();

  constructor(root: string, interest: FilesOfInterest, limits: DirectoryLimits) {
    this.#root = root;
    this.#interest = interest;
    this.#limits = limits;
    this.#awayIn = homesBelow(root);
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
  addEvent(changes: TreeChanges, realDirectory: string, name?: string, isRename = false): void {
    const directory = this.#paths.get(realDirectory);
    const path = directory === undefined || name === undefined ? directory : join(directory, name);
    if (path !== undefined) changes.add(path, isRename);
    const file = path === undefined ? undefined : this.at(path);
    // Any link may lead by way of anything but a plain file.
    const isPlainFile = file !== undefined && !(file instanceof Error) && !file.isLink;
    if (!isPlainFile || this.#targets.has(file.realPath)) changes.addLinks();
  }

  /** @throws why the root directory can't be read, or that its files are away with their volume; nothing is known of the tree then. */
  async scan(changes: TreeChanges): Promise<TreeScan> {
    const former = this.#listings;
    const walk = new TreeWalk({
      root: this.#root,
      interest: this.#interest,
      changes,
      former,
      room: (this.#limits.maxDirectories ?? 1_024) + 1 - former.size,
      limits: this.#limits,
    });
    try {
      await walk.walk();
    } catch (error) {
      this.#take(new Map());
      throw error;
    }
    const { listings, examined, unreadable, leftOut } = walk;
    let isAnyGone = false;
    for (const [path, listing] of former) {
      if (listings.get(path) === listing) continue;
      for (const one of listing.files.keys()) examined.add(one);
      if (!listings.has(path)) isAnyGone = true;
    }
    this.#take(listings);
    for (const path of this.#awayIn(listings, unreadable.keys())) {
      if (path === this.#root) throw awayError(path);
      unreadable.set(path, awayError(path));
    }
    return { examined, unreadable, leftOut, hasRoomNow: isAnyGone && leftOut.has(tooManyDirectories) };
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

function awayError(path: string): Error {
  return new Error(
    `${path} holds nothing that is read, and is in another file system than before, as when a volume was unmounted: mount it again; to delete what was there, delete it in the volume, or restart`,
  );
}
