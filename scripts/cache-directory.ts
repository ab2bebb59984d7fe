import { homedir } from "node:os";
import path from "node:path";

/** Where what is fetched or built once for all checkouts is kept: `~/.cache/bunting/<name>`. */
export function cacheDirectory(name: string): string {
  return path.join(process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "bunting", name);
}
