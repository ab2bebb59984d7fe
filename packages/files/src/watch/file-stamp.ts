import type { BigIntStats } from "node:fs";
import { lstat, realpath, stat, statfs } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode } from "@bunting/runtime";

/** The file system's data about a regular file, without its content: equal stamps mean equal bytes. */
export interface FileStamp {
  /** Where the bytes are, with all symbolic links followed. */
  readonly realPath: string;
  /** True if the path itself is a symbolic link, as every file of a ConfigMap mount is. */
  readonly isLink: boolean;
  readonly size: number;
  /** Differs for another file of the same name. */
  readonly identity: string;
  /** Changes with whatever happens to the file: another file of the same name, a write, a chmod. */
  readonly version: string;
  /** When that happened last, in milliseconds since the epoch by the file system's clock. Nobody can set it to an earlier time. */
  readonly changedMs: number;
}

export function stampOf(stats: BigIntStats, realPath: string, isLink: boolean): FileStamp {
  const { size, mtimeNs, ctimeNs } = stats;
  const identity = fileIdentityOf(stats);
  const version = `${identity}:${size}:${mtimeNs}:${ctimeNs}`;
  const changedMs = Number(ctimeNs / 1_000_000n);
  return { realPath, isLink, size: Number(size), identity, version, changedMs };
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

/** What is at a path: a regular file's stamp, or what else matters. A link leads to something that is neither file nor directory. */
export type Found = FileStamp | "directory" | "linked directory" | "link" | undefined;

/**
 * What is at the path, links followed. What is not a regular file must not even be opened: a FIFO would block. `realDirectory` is where
 * the directory of the path really is.
 *
 * @throws the system's error where it can't be examined: no permission, I/O error, too many links.
 */
export async function examine(path: string, realDirectory: string): Promise<Found> {
  try {
    const own = await lstat(path, { bigint: true });
    if (own.isDirectory()) return "directory";
    if (own.isFile()) return stampOf(own, join(realDirectory, basename(path)), false);
    return own.isSymbolicLink() ? await examineTarget(path, own.dev) : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function examineTarget(path: string, linkDevice: bigint): Promise<Found> {
  try {
    const target = await stat(path, { bigint: true });
    if (target.isDirectory()) return "linked directory";
    if (!target.isFile()) return "link";
    if (target.dev !== linkDevice && (await isPseudo(path))) return "link";
    return stampOf(target, await realpath(path), true);
  } catch (error) {
    if (isNotFound(error)) return "link";
    throw error;
  }
}

/** statfs(2): proc, sysfs, cgroup2. */
const pseudoTypes = new Set([0x9fa0, 0x62656572, 0x63677270]);

/** True in the file systems by which the kernel tells its state: they contain no flags, and the data of a file changes at every look. */
export async function isPseudo(path: string): Promise<boolean> {
  return pseudoTypes.has((await statfs(path)).type);
}

/** Differs for another file or directory at the same path: some file systems reuse inode numbers at once. */
export function fileIdentityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
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
