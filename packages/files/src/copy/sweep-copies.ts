import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";

/** Files that are being written. */
export const temporarySuffix = ".tmp";
/** No write takes this long. */
const leftoverAgeMs = 60_000;

/** Removes temporary files of writers that were killed, of the copies whose names these are. Never rejects. */
export async function sweepCopies(directory: string, isOurs: (name: string) => boolean): Promise<void> {
  try {
    for (const name of await readdir(directory)) {
      if (!name.endsWith(temporarySuffix) || !isOurs(name)) continue;
      const leftover = path.join(directory, name);
      const { mtimeMs } = await stat(leftover);
      // A younger one may still be written by another process on the same volume.
      if (Date.now() - mtimeMs > leftoverAgeMs) await rm(leftover, { force: true });
    }
  } catch {
    // Temporary files that are left behind do no harm.
  }
}
