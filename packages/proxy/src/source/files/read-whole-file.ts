import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { drainEvents } from "./drain-events.js";
import { isSameContent, stampOf, type FileStamp } from "./file-stamp.js";

/**
 * Reads the file that the stamp describes: undefined if it is another one by now, or was written to meanwhile, so that nobody gets
 * bytes of two versions. When it resolves, the events of what happened meanwhile have been handed to their listeners.
 */
export async function readWholeFile(path: string, stamp: FileStamp): Promise<Buffer | undefined> {
  // Never waits: should a FIFO have taken the file's place since the look at it, a plain open would hang.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const isStill = async (): Promise<boolean> =>
      isSameContent(stamp, stampOf(await file.stat({ bigint: true }), stamp.realPath, stamp.isLink));
    if (!(await isStill())) return undefined;
    const size = Number(stamp.size);
    // One byte more than there should be, so that a file that grew is noticed whatever its times say.
    const buffer = Buffer.allocUnsafe(size + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length >= size) break;
    }
    return length === size && (await isStill()) ? buffer.subarray(0, size) : undefined;
  } finally {
    await Promise.all([file.close(), drainEvents()]);
  }
}
