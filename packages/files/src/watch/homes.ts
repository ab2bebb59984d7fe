import { dirname, join, sep } from "node:path";
import type { DirectoryListing } from "./directory-listing.js";

/**
 * Remembers in which file system each directory last held files. Where a volume was unmounted, its mount point is left: an empty directory
 * in another file system, and its files are away, not deleted. An empty directory in the same file system was put there, or its files were
 * deleted.
 */
export class Homes {
  readonly #root: string;
  readonly #fileSystems = new Map<string, string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** The directories whose files are away. `unreadable`: what is below is not known. */
  update(listings: ReadonlyMap<string, DirectoryListing>, unreadable: Iterable<string>): string[] {
    const suspects = [...listings].filter(
      ([path, { fileSystem }]) => this.#fileSystems.get(path) !== fileSystem,
    );
    const inhabited = suspects.length === 0 ? new Set() : this.#inhabited(listings);
    const away: string[] = [];
    for (const [path, { fileSystem }] of suspects) {
      if (inhabited.has(path)) this.#fileSystems.set(path, fileSystem);
      else if (this.#fileSystems.has(path)) away.push(path);
    }
    this.#forget(listings, [...unreadable, ...away]);
    return away;
  }

  /** The directories with files in them or below. */
  #inhabited(listings: ReadonlyMap<string, DirectoryListing>): Set<string> {
    const found = new Set<string>();
    for (const [path, { files }] of listings) {
      if (files.size === 0) continue;
      for (let each = path; !found.has(each); each = dirname(each)) {
        found.add(each);
        if (each === this.#root) break;
      }
    }
    return found;
  }

  /** What is gone, and not only hidden, has no home any more. */
  #forget(listings: ReadonlyMap<string, DirectoryListing>, hidden: readonly string[]): void {
    for (const path of this.#fileSystems.keys()) {
      if (listings.has(path) || hidden.some((each) => join(path, sep).startsWith(join(each, sep)))) continue;
      this.#fileSystems.delete(path);
    }
  }
}
