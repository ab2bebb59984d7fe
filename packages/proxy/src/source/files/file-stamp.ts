import type { BigIntStats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";

/** What the file system says of a file without reading it: two equal stamps mean the same bytes, as far as it can tell. */
export interface FileStamp {
  /** Where the bytes are, with all symbolic links followed. */
  readonly realPath: string;
  /** True if the path itself is a symbolic link, as every file of a ConfigMap mount is. */
  readonly isLink: boolean;
  readonly device: bigint;
  readonly inode: bigint;
  /** Inode numbers are used again at once by some file systems; together with this they tell one file from the next. */
  readonly bornNs: bigint;
  readonly size: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
}

/**
 * Reads the stamp of a regular file, following links; undefined where there is none (or only something that is no regular file,
 * which must not even be opened: a FIFO would block). `realDirectory` is where the file's directory really is.
 *
 * @throws what the file system says, where it does not know: no permission, I/O error, too many links.
 */
export async function readStamp(path: string, realDirectory: string): Promise<FileStamp | undefined> {
  try {
    const own = await lstat(path, { bigint: true });
    const isLink = own.isSymbolicLink();
    const target = isLink ? await stat(path, { bigint: true }) : own;
    if (!target.isFile()) return undefined;
    return stampOf(target, isLink ? await realpath(path) : join(realDirectory, basename(path)), isLink);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

export function stampOf(stats: BigIntStats, realPath: string, isLink: boolean): FileStamp {
  return {
    realPath,
    isLink,
    device: stats.dev,
    inode: stats.ino,
    bornNs: stats.birthtimeNs,
    size: stats.size,
    modifiedNs: stats.mtimeNs,
    changedNs: stats.ctimeNs,
  };
}

/** True if both are the same file on disk, whatever was written to it in between. */
export function isSameFile(a: FileStamp, b: FileStamp): boolean {
  return a.inode === b.inode && a.device === b.device && a.bornNs === b.bornNs;
}

/** True if nothing was written between the two. */
export function isSameContent(a: FileStamp, b: FileStamp): boolean {
  return isSameFile(a, b) && a.size === b.size && a.modifiedNs === b.modifiedNs;
}

export function isSameStamp(a: FileStamp, b: FileStamp): boolean {
  return isSameContent(a, b) && a.changedNs === b.changedNs && a.realPath === b.realPath;
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
