import { lstat, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { examine, isNotFound, toError, type FileStamp } from "./file-stamp.js";
import { isSkippedName } from "./is-skipped-name.js";

/** The files of interest: those with an accepted name in the whole tree, or one file of its root directory. */
export type FilesOfInterest = { readonly accepts: (name: string) => boolean } | { readonly only: string };

export interface DirectoryLimits {
  /** A larger file is not read. */
  readonly maxBytes: number;
  /** More directories below are not entered. Default: 1,024. */
  readonly maxDirectories?: number;
  /** More files are an error of the whole directory. Default: none. */
  readonly maxFiles?: number;
  /** So are more bytes in all files that are read. Default: none. */
  readonly maxTotalBytes?: number;
}

/** Files that are examined at once: of ten thousand at once, what the system says would take all of a small heap. */
const examinedAtOnce = 64;

/** What is in a directory, by path. */
export interface DirectoryListing {
  /** Of the directory itself. */
  readonly identity: string;
  readonly realPath: string;
  /** Its device and mount: another where a volume was mounted or unmounted. */
  readonly fileSystem: string;
  /** The files of interest; an error where one can't be examined. */
  readonly files: Map<string, FileStamp | Error>;
  readonly directories: Set<string>;
  /** What may change without an event of its name: symbolic links, and what can't be examined. */
  readonly links: Set<string>;
  readonly linkedDirectories: Set<string>;
  /** What has a name by which it can't be opened. */
  readonly misnamed: Set<string>;
}

/** Reads a directory and examines what is of interest in it. */
export async function readListing(
  path: string,
  self: Pick<DirectoryListing, "identity" | "realPath" | "fileSystem">,
  interest: FilesOfInterest,
  maxFiles = Infinity,
): Promise<DirectoryListing> {
  const listing: DirectoryListing = {
    ...self,
    files: new Map(),
    directories: new Set(),
    links: new Set(),
    linkedDirectories: new Set(),
    misnamed: new Set(),
  };
  if ("only" in interest) {
    await updateListing(listing, [join(path, interest.only)], interest);
    return listing;
  }
  const paths: string[] = [];
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (isSkippedName(entry.name)) continue;
    const isOfInterest = entry.isDirectory() || interest.accepts(entry.name);
    // Bytes that are no UTF-8 are lost, and the name that is left is of nothing.
    if (isOfInterest && entry.name.includes("\uFFFD") && (await isNothing(child)))
      listing.misnamed.add(child);
    else if (entry.isDirectory()) listing.directories.add(child);
    else if (entry.isSymbolicLink() || (entry.isFile() && interest.accepts(entry.name))) paths.push(child);
  }
  // Before any is examined.
  if (paths.length > maxFiles) throw new TooManyFilesError(`${maxFiles} files`);
  await updateListing(listing, paths, interest);
  return listing;
}

async function isNothing(path: string): Promise<boolean> {
  return lstat(path).then(() => false, isNotFound);
}

/** Thrown for a tree of more files than there is memory for. Which of them could be left out is nothing that a directory says. */
export class TooManyFilesError extends Error {
  constructor(most: string) {
    super(`it has more than ${most}, which is what there is memory for: keep others elsewhere`);
  }
}

/** Examines these paths of the directory again. */
export async function updateListing(
  listing: DirectoryListing,
  paths: Iterable<string>,
  interest: FilesOfInterest,
): Promise<void> {
  const { files, directories, links, linkedDirectories, realPath } = listing;
  const update = async (path: string): Promise<void> => {
    const name = basename(path);
    const isNamed = "only" in interest ? name === interest.only : !isSkippedName(name);
    if (!isNamed) return;
    const found = await examine(path, realPath).catch(toError);
    for (const former of [files, directories, links, linkedDirectories]) former.delete(path);
    if (found === "directory") directories.add(path);
    else if (found === "linked directory") linkedDirectories.add(path);
    else if (typeof found === "object" && ("only" in interest || interest.accepts(name)))
      files.set(path, found);
    const isLink = typeof found === "object" ? found instanceof Error || found.isLink : found !== "directory";
    if (found !== undefined && isLink) links.add(path);
  };
  const all = [...paths];
  for (let from = 0; from < all.length; from += examinedAtOnce)
    await Promise.all(all.slice(from, from + examinedAtOnce).map(update));
}
