import { constants, type BigIntStats } from "node:fs";
import { lstat, open, realpath, stat, type FileHandle } from "node:fs/promises";

/** What the file system says of a file without reading it: two equal stamps mean the same bytes, as far as it can tell. */
export interface FileStamp {
  /** Where the bytes are, links followed. */
  readonly realPath: string;
  /** True if the path itself is a symbolic link, as that of a file in a ConfigMap mount. */
  readonly isLink: boolean;
  /** Which file it is: inode numbers alone are used again at once. */
  readonly identity: string;
  readonly size: number;
  readonly modifiedNs: bigint;
}

/** The stamp of a regular file; undefined if there is none at this path. @throws what the system says if it can't tell. */
export async function readStamp(path: string): Promise<FileStamp | undefined> {
  try {
    const stats = await stat(path, { bigint: true });
    if (!stats.isFile()) return undefined;
    return stampOf(stats, await realpath(path), (await lstat(path)).isSymbolicLink());
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

export function isSameFile(a: FileStamp, b: FileStamp): boolean {
  return a.identity === b.identity;
}

export function isSameContent(a: FileStamp | undefined, b: FileStamp | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return isSameFile(a, b) && a.realPath === b.realPath && a.size === b.size && a.modifiedNs === b.modifiedNs;
}

/**
 * Reads the file of a stamp; undefined if it is gone or another by now, or was written to meanwhile: nobody gets bytes of two versions.
 *
 * @throws what the system says if it can't be read.
 */
export async function readStamped(path: string, stamp: FileStamp): Promise<Buffer | undefined> {
  const file = await openIfThere(path);
  if (file === undefined) return undefined;
  try {
    const isStill = async (): Promise<boolean> =>
      isSameContent(stamp, stampOf(await file.stat({ bigint: true }), stamp.realPath, stamp.isLink));
    if (!(await isStill())) return undefined;
    // One byte more than there should be, so that a file that grew shows whatever its times say.
    const buffer = Buffer.allocUnsafeSlow(stamp.size + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return length === stamp.size && (await isStill()) ? buffer.subarray(0, length) : undefined;
  } finally {
    await file.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    // Never waits: should a FIFO have taken the file's place, a plain open would.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** True for the errors that say "there is nothing of this name", as opposed to "I can't tell". */
function isAbsence(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === "ENOENT" || code === "ENOTDIR";
}

function stampOf(stats: BigIntStats, realPath: string, isLink: boolean): FileStamp {
  return {
    realPath,
    isLink,
    identity: `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`,
    size: Number(stats.size),
    modifiedNs: stats.mtimeNs,
  };
}
