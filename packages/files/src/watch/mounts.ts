import { readFile } from "node:fs/promises";
import { join, sep } from "node:path";

/** What is mounted where: mount points by path, with the identities of the mounts. Empty on systems without this information. */
export type Mounts = ReadonlyMap<string, string>;

/** A volume that is bound to another directory of its own file system has the same device there: only its mount differs. */
export async function readMounts(): Promise<Mounts> {
  const mounts = new Map<string, string>();
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  for (const line of text.split("\n")) {
    const [id, , , , point] = line.split(" ");
    // The last mount at a point hides those before it.
    if (id !== undefined && point !== undefined) mounts.set(unescaped(point), id);
  }
  return mounts;
}

export function mountOf(realPath: string, mounts: Mounts): string {
  let [longest, found] = ["", ""];
  for (const [point, id] of mounts) {
    const holds = point === realPath || realPath.startsWith(join(point, sep));
    if (holds && point.length >= longest.length) [longest, found] = [point, id];
  }
  return found;
}

/** Spaces, tabs, line breaks and backslashes are written in octal. */
function unescaped(point: string): string {
  return point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
