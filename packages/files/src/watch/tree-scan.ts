import { realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { directoryIdentity } from "./directory-watch.js";
import { isAbsence, lookAt, toError } from "./file-stamp.js";
import type { Listing } from "./listing.js";
import type { Found } from "./tracked-file.js";

export interface TreeScanOptions {
  /** Where the tree begins. */
  readonly path: string;
  /** The files of interest: those with an accepted name in the whole tree, or one file of the root directory. */
  readonly files: { readonly accepts: (name: string) => boolean } | { readonly only: string };
  /** More directories below the root are not entered. */
  readonly maxDirectories: number;
  /** The listings of the scan before, by path. */
  readonly known: ReadonlyMap<string, Listing>;
  readonly createListing: (path: string, realPath: string, identity: string) => Listing;
  /** Whether a file is looked at although nothing happened in its directory. */
  isDue(path: string): boolean;
  /** Called before each look at a path. */
  beginLook(path: string): void;
  /** Everything is listed and looked at. */
  readonly isForced: boolean;
}

/** One scan of a directory tree: lists the directories in which something happened, and looks at the files there and at all links. */
export class TreeScan {
  /** The files that were looked at. */
  readonly found = new Map<string, Found>();
  /** All files there are. */
  readonly present = new Set<string>();
  /** Directories that can't be read: what they hold is not known. */
  readonly unreadable = new Map<string, Error>();
  /** Directories that are left out, or not watched as they should be. */
  readonly unwatched = new Map<string, Error>();
  /** The directories that were entered, by path. */
  readonly listings = new Map<string, Listing>();
  readonly #options: TreeScanOptions;
  readonly #entered = new Set<string>();
  #newListings = 0;

  constructor(options: TreeScanOptions) {
    this.#options = options;
  }

  /** @throws what the system says if the root directory can't be read. */
  async run(): Promise<void> {
    const { path: root, files } = this.#options;
    const plain = [root];
    const linked: string[] = [];
    for (let path = plain.shift(); path !== undefined; path = plain.shift() ?? linked.shift()) {
      try {
        const listing = await this.#enter(path);
        if (listing === undefined) continue;
        if ("only" in files) {
          await this.#lookAt(join(path, files.only), listing);
          return;
        }
        const isListed = await listing.refresh(this.#options.isForced);
        plain.push(...listing.entries.directories);
        linked.push(...(await this.#lookAtFiles(listing, isListed, files.accepts)));
      } catch (error) {
        this.listings.delete(path);
        if (path === root) throw error;
        if (!isAbsence(error)) this.unreadable.set(path, toError(error));
      }
    }
  }

  /** The listing of a directory, which is watched by now; undefined if it was entered already, or is one too many. */
  async #enter(path: string): Promise<Listing | undefined> {
    const { known, maxDirectories, createListing } = this.#options;
    const identity = await directoryIdentity(path);
    if (this.#entered.has(identity)) return undefined;
    const before = known.get(path);
    if (before === undefined && known.size + this.#newListings > maxDirectories) {
      this.unwatched.set(path, new Error(`${path} is not read: there are too many directories`));
      return undefined;
    }
    if (before === undefined) this.#newListings++;
    this.#entered.add(identity);
    const realPath = await realpath(path);
    const isSame = before?.identity === identity && before.realPath === realPath;
    const listing = isSame ? before : createListing(path, realPath, identity);
    this.listings.set(path, listing);
    const error = await listing.watch();
    if (error !== undefined) this.unwatched.set(path, error);
    return listing;
  }

  /** Returns the links that lead to directories. */
  async #lookAtFiles(
    listing: Listing,
    isListed: boolean,
    accepts: (name: string) => boolean,
  ): Promise<readonly string[]> {
    const { files, links } = listing.entries;
    const accepted = files.filter((path) => accepts(basename(path)));
    for (const path of accepted) this.present.add(path);
    const due = accepted.filter((path) => isListed || this.#options.isDue(path));
    await Promise.all(due.map((path) => this.#lookAt(path, listing)));
    const directories: string[] = [];
    const follow = async (path: string): Promise<void> => {
      const isDirectory = await this.#lookAt(path, listing, accepts(basename(path)));
      if (isDirectory) directories.push(path);
    };
    await Promise.all(links.map(follow));
    return directories.sort();
  }

  /** Notes what is at the path, if it is a file or can't be looked at. True if it is a directory. */
  async #lookAt(path: string, listing: Listing, isOfInterest = true): Promise<boolean> {
    let found: Found | "directory";
    this.#options.beginLook(path);
    try {
      found = await lookAt(path, listing.realPath);
    } catch (error) {
      found = toError(error);
    }
    if (found === "directory") return true;
    if (found === undefined) this.present.delete(path);
    if (found === undefined || !isOfInterest) return false;
    this.present.add(path);
    this.found.set(path, found);
    return false;
  }
}
