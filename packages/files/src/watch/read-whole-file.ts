import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { stampOf, type FileStamp } from "./file-stamp.js";

/**
 * Reads the file of a stamp; undefined if another one is at the path by now, or it was written to meanwhile: the bytes are never those
 * of two versions.
 *
 * @throws the system's error if it can't be read.
 */
export async function readWholeFile(path: string, stamp: FileStamp): Promise<Buffer | undefined> {
  // Without O_NONBLOCK, open would hang on a FIFO that took the file's place after the stamp was taken.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const isStill = async (): Promise<boolean> =>
      stampOf(await file.stat({ bigint: true }), "", false).version === stamp.version;
    if (!(await isStill())) return undefined;
    // One byte more than there should be, so that a file that grew is noticed whatever its times are.
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
