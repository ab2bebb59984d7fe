import type { Dirent, Stats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isFlagFileName } from "@bunting/featureflags/manifests";
import { isSkippedName } from "@bunting/files/names";
import { standardInput, unreadable } from "./read-input.js";

/** A file to be read. */
export interface FoundFile {
  readonly path: string;
  /** False if it was found in a directory, where not every file holds flags. */
  readonly isNamed: boolean;
}

/**
 * The files that the paths name: files as they are, whatever they are called, and of directories and their subdirectories those that may hold
 * flags, as the proxy reads them: names that begin with a dot, and `node_modules`, are passed over, and links are followed, but each directory is
 * entered once, by a path without links if there is one.
 *
 * @throws CliError INPUT_UNREADABLE
 */
export async function findFiles(
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = [];
  for (const path of paths) {
    if (path === standardInput || !(await isDirectory(path))) found.push({ path, isNamed: true });
    else await addTree(path, found, signal);
  }
  return found;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Links that lead to directories come after all others, so that links among n directories do not make n! paths. */
async function addTree(root: string, found: FoundFile[], signal: AbortSignal): Promise<void> {
  const entered = new Set<string>();
  const links: string[] = [];
  const enter = async (path: string): Promise<void> => {
    signal.throwIfAborted();
    for (const entry of await newEntries(path, entered)) {
      if (isSkippedName(entry.name)) continue;
      const inner = join(path, entry.name);
      const target = entry.isSymbolicLink() ? await targetOf(inner) : entry;
      if (target?.isDirectory() === true) {
        if (target === entry) await enter(inner);
        else links.push(inner);
      } else if (target?.isFile() === true && isFlagFileName(entry.name))
        found.push({ path: inner, isNamed: false });
    }
  };
  await enter(root);
  for (const link of links) await enter(link);
}

/** What is in a directory, by name; nothing if it was entered before. */
async function newEntries(path: string, entered: Set<string>): Promise<readonly Dirent[]> {
  try {
    const real = await realpath(path);
    if (entered.has(real)) return [];
    entered.add(real);
    const entries = await readdir(path, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Undefined for a link that leads nowhere. */
async function targetOf(link: string): Promise<Stats | undefined> {
  try {
    return await stat(link);
  } catch {
    return undefined;
  }
}
