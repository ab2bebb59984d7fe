import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "@bunting/runtime";

/**
 * Makes a directory and those above it, as mkdir -p does. The option `recursive` of Node tries for ever, on a thread that keeps the process from
 * ending, where the directory above exists and nothing can be made in it: in /proc, or in a directory that was removed.
 */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    await makeOne(directory);
  } catch (error) {
    const above = path.dirname(directory);
    if (errorCode(error) !== "ENOENT" || above === directory) throw error;
    await makeDirectory(above);
    await makeOne(directory);
  }
}

async function makeOne(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    if (errorCode(error) !== "EEXIST" || !(await stat(directory)).isDirectory()) throw error;
  }
}
