import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { identityOf, isNotFound, examine, toError, type FileStamp } from "./file-stamp.js";

/** The files of interest: those with an accepted name in the whole tree, or one file of its root directory. */
export type FilesOfInterest = { readonly accepts: (name: string) => boolean } | { readonly only: string };

/** What a scan found. */
export interface TreeScan {
  /** The files there are; an error where one can't be examined. */
  readonly files: Map<string, FileStamp | Error>;
  /** The directories that were entered: real paths, by path. */
  readonly directories: Map<string, string>;
  /** Directories that can't be read: what they hold is not known. */
  readonly unreadable: Map<string, Error>;
  /** Directories that were left out, because there are too many. */
  readonly leftOut: string[];
}

/**
 * Looks at all files below a directory.
 *
 * Symbolic links are followed, but each directory is entered once, by a path without links if there is one. Names that start with a dot
 * are skipped: in a ConfigMap mount they hold the same files once more, and elsewhere what editors and rsync write before they rename.
 *
 * @param known the directories that were entered last time: no new one takes the place of these
 * @throws what the system says if the root directory can't be read.
 */
export async function scanTree(
  root: string,
  files: FilesOfInterest,
  known: ReadonlyMap<string, string>,
  maxDirectories: number,
): Promise<TreeScan> {
  const scan: TreeScan = { files: new Map(), directories: new Map(), unreadable: new Map(), leftOut: [] };
  const entered = new Set<string>();
  const plain = [root];
  const linked: string[] = [];
  let room = maxDirectories + 1 - known.size;
  for (let path = plain.shift(); path !== undefined; path = plain.shift() ?? linked.shift()) {
    try {
      const stats = await stat(path, { bigint: true });
      if (!stats.isDirectory()) throw notDirectory(path);
      const identity = identityOf(stats);
      if (entered.has(identity)) continue;
      if (!known.has(path) && --room < 0) {
        scan.leftOut.push(path);
        continue;
      }
      const realPath = await realpath(path);
      const entries = "only" in files ? [] : await readdir(path, { withFileTypes: true });
      entered.add(identity);
      scan.directories.set(path, realPath);
      if ("only" in files) {
        await note(scan, join(path, files.only), realPath, true);
        continue;
      }
      const pathsOf = (is: (entry: Dirent) => boolean): string[] =>
        entries
          .filter((entry) => !entry.name.startsWith(".") && is(entry))
          .map(({ name }) => join(path, name));
      plain.push(...pathsOf((entry) => entry.isDirectory()));
      const accepted = pathsOf((entry) => entry.isFile() && files.accepts(entry.name));
      await Promise.all(accepted.map((file) => note(scan, file, realPath, true)));
      for (const link of pathsOf((entry) => entry.isSymbolicLink()).sort()) {
        if (await note(scan, link, realPath, files.accepts(basename(link)))) linked.push(link);
      }
    } catch (error) {
      if (path === root) throw error;
      if (!isNotFound(error)) scan.unreadable.set(path, toError(error));
    }
  }
  return scan;
}

/** Notes what is at the path, if it is a file of interest. True if it is a directory. */
async function note(
  { files }: TreeScan,
  path: string,
  realDirectory: string,
  isOfInterest: boolean,
): Promise<boolean> {
  const found = await examine(path, realDirectory).catch(toError);
  if (found === "directory") return true;
  if (found !== undefined && isOfInterest) files.set(path, found);
  return false;
}

function notDirectory(path: string): Error {
  return Object.assign(new Error(`ENOTDIR: ${path} is not a directory`), { code: "ENOTDIR" });
}
