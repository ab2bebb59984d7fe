/**
 * Makes V8's code cache of the built agent for a node that will run it with the flags of the agent's image:
 *
 *     node --import=tsx scripts/code-cache/make-code-cache.ts NODE FOLDER
 *
 * It writes FOLDER/bunting-agent.cache, or nothing if that node can't run here, as that of another architecture: the agent then starts as
 * it does without a cache.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { imageEntrypoint } from "../images/image-entrypoint.js";
import { bundleId, codeCacheName } from "./bundle-id.js";

const root = path.resolve(import.meta.dirname, "../..");
const bundle = path.join(root, "packages/agent/dist/bunting-agent.cjs");

/** Returns a sentence if no cache could be made because this node can't run here. Throws if it runs and the agent does not. */
export function makeCodeCache(node: string, folder: string): string | undefined {
  const tried = spawnSync(node, ["--version"], { encoding: "utf8" });
  if (tried.status !== 0)
    return `${node} can't run here (${tried.error?.message ?? tried.stderr.trim()}): no code cache`;
  const { nodeFlags, environment } = imageEntrypoint("agent.Dockerfile");
  mkdirSync(folder, { recursive: true });
  const unfinished = mkdtempSync(path.join(folder, ".code-cache-"));
  try {
    const made = path.join(unfinished, codeCacheName);
    const warmed = spawnSync(
      node,
      [...nodeFlags, path.join(import.meta.dirname, "warm-agent.cjs"), bundle, bundleId(bundle), made],
      { env: environment, encoding: "utf8" },
    );
    if (warmed.status !== 0)
      throw new Error(`the agent could not be warmed up:\n${warmed.stdout}${warmed.stderr}`);
    renameSync(made, path.join(folder, codeCacheName));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return undefined;
}

if (process.argv[1] === import.meta.filename) {
  const [node, folder] = process.argv.slice(2);
  if (node === undefined || folder === undefined) throw new Error("usage: make-code-cache.ts NODE FOLDER");
  mkdirSync(folder, { recursive: true });
  const missing = makeCodeCache(node, folder);
  if (missing !== undefined) console.warn(missing);
}
