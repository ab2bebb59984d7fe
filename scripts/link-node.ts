import { copyFileSync, linkSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";

/**
 * The path of a `node` in the checkout that is this binary, in a folder of its own for PATH. A test runs it as another user, who may not enter
 * the home directory that the cache is in.
 */
export function linkNode(binary: string, major: number): string {
  const directory = path.join(path.dirname(import.meta.dirname), `node_modules/.bunting/bin-${major}`);
  const link = path.join(directory, "node");
  if (binary === link) return link;
  mkdirSync(directory, { recursive: true });
  rmSync(link, { force: true });
  try {
    linkSync(binary, link);
  } catch {
    // On another file system.
    copyFileSync(binary, link);
  }
  return link;
}
