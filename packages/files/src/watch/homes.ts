import { dirname, join, sep } from "node:path";
import type { DirectoryListing } from "./directory-listing.js";

/**
 * Remembers in which file system each directory last held files, and names the directories whose files are away; of what is below one that is
 * unreadable nothing is known. Where a volume was unmounted, its mount point is left: an empty directory in another file system, and its files are
 * away, not deleted. An empty directory in the same file system was put there, or its files were deleted.
 */
export function homesBelow(
  root: string,
): (listings: ReadonlyMap<string, DirectoryListing>, unreadable: Iterable<string>) => string[] {
  const fileSystems = new Map<string, string>();
  return (listings, unreadable) => {
    const suspects = [...listings].filter(([path, { fileSystem }]) => fileSystems.get(path) !== fileSystem);
    const inhabited = suspects.length === 0 ? new Set() : inhabitedDirectories(root, listings);
    const away: string[] = [];
    for (const [path, { fileSystem }] of suspects) {
      if (inhabited.has(path)) fileSystems.set(path, fileSystem);
      else if (fileSystems.has(path)) away.push(path);
    }
    const hidden = [...unreadable, ...away];
    // A path that is gone, and not only hidden by a mount, has no home any more.
    for (const path of fileSystems.keys()) {
      if (listings.has(path) || hidden.some((each) => join(path, sep).startsWith(join(each, sep)))) continue;
      fileSystems.delete(path);
    }
    return away;
  };
}

/** The directories with files in them or below. */
function inhabitedDirectories(root: string, listings: ReadonlyMap<string, DirectoryListing>): Set<string> {
  const found = new Set<string>();
  for (const [path, { files }] of listings) {
    if (files.size === 0) continue;
    for (let each = path; !found.has(each); each = dirname(each)) {
      found.add(each);
      if (each === root) break;
    }
  }
  return found;
}
