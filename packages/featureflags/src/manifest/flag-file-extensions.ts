import { extname } from "node:path";

/** What the name of a file that may hold flags ends with. */
export const flagFileExtensions: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

/** True if a file of this name may hold flags; capitals make no difference. */
export function isFlagFileName(path: string): boolean {
  return flagFileExtensions.has(extname(path).toLowerCase());
}
