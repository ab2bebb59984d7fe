import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** The name of the cache beside the agent's bundle, where start-agent.cjs looks for it. */
export const codeCacheName = "bunting-agent.cache";

/** What tells one bundle from another, so that no code cache is used with a bundle that it was not made of: V8 compares their lengths only. */
export function bundleId(bundle: string): string {
  return createHash("sha256").update(readFileSync(bundle)).digest("hex").slice(0, 16);
}
