import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";

/** Files that are being written. */
export const temporarySuffix = ".tmp";
/** No write takes this long. */
const leftoverAgeMs = 60_000;

/** Removes temporary files of writers that were killed, of the copies whose names these are. Never rejects. */
export async function sweepCopies(directory: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    // One that can't be removed, a directory of such a name for instance, keeps none of the others from it, which add up.
    if (name.endsWith(temporarySuffix) && isOurs(name))
      await removeLeftover(path.join(directory, name)).catch(() => undefined);
  }
}

async function removeLeftover(file: string): Promise<void> {
  const { mtimeMs } = await stat(file);
  // A younger one may still be written by another process on the same volume.
  if (Date.now() - mtimeMs > leftoverAgeMs) await rm(file, { force: true });
}
