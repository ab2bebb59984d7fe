import { mkdir } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "@bunting/runtime";

/**
 * Makes a directory and those above it, as mkdir -p does. The option `recursive` of Node tries for ever, on a thread that keeps the process from
 * ending, where the directory above exists and nothing can be made in it: in /proc, or in a directory that was removed.
 */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    const above = path.dirname(directory);
    if (errorCode(error) !== "ENOENT" || above === directory) throw error;
    await makeDirectory(above);
    await mkdir(directory).catch((again: unknown) => {
      if (errorCode(again) !== "EEXIST") throw again;
    });
  }
}
