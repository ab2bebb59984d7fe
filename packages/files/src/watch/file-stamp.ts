import type { BigIntStats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";

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
 * @throws what the system says where it can't tell: no permission, I/O error, too many links.
 */
export async function lookAt(
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
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Tells one file or directory from another at the same path: inode numbers alone are used again at once by some file systems. */
export function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** True for the errors that say "there is nothing of this name", as opposed to "I can't tell". */
export function isAbsence(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** The system's code of an error, "ENOENT" for instance; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
