import type { BigIntStats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode } from "@bunting/runtime";

/** What the file system says of a regular file without reading it: equal stamps mean equal bytes. */
export interface FileStamp {
  /** Where the bytes are, with all symbolic links followed. */
  readonly realPath: string;
  /** True if the path itself is a symbolic link, as every file of a ConfigMap mount is. */
  readonly isLink: boolean;
  readonly size: number;
  /** Changes with whatever happens to the file: another file of the same name, a write, a chmod. */
  readonly version: string;
}

export function stampOf(stats: BigIntStats, realPath: string, isLink: boolean): FileStamp {
  const { size, mtimeNs, ctimeNs } = stats;
  const version = `${identityOf(stats)}:${size}:${mtimeNs}:${ctimeNs}`;
  return { realPath, isLink, size: Number(size), version };
}

export function isSameStamp(a: FileStamp | undefined, b: FileStamp | undefined): boolean {
  return a?.version === b?.version && a?.realPath === b?.realPath;
}

/**
 * True if a link on the path was swapped, on the file or on a directory above it. A regular file in the place of a link is something
 * else: it may have been created there and still be written to.
 */
export function leadsElsewhere(before: FileStamp | undefined, after: FileStamp | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  return before.realPath !== after.realPath && (after.isLink || !before.isLink);
}

/**
 * What is at the path, links followed: a regular file's stamp, a directory, or nothing of interest (which must not even be opened: a
 * FIFO would block). `realDirectory` is where the directory of the path really is.
 *
 * @throws the system's error where it can't be examined: no permission, I/O error, too many links.
 */
export async function examine(
  path: string,
  realDirectory: string,
): Promise<FileStamp | "directory" | undefined> {
  try {
    const own = await lstat(path, { bigint: true });
    const isLink = own.isSymbolicLink();
    const target = isLink ? await stat(path, { bigint: true }) : own;
    if (target.isDirectory()) return "directory";
    if (!target.isFile()) return undefined;
    return stampOf(target, isLink ? await realpath(path) : join(realDirectory, basename(path)), isLink);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Differs for another file or directory at the same path: some file systems reuse inode numbers at once. */
export function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** True for the errors that mean "there is nothing of this name", as opposed to "it can't be examined". */
export function isNotFound(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
