import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { CacheEntry } from "./cache-entry.js";

const root = path.dirname(import.meta.dirname);

/**
 * What the tests of test/skew run beside the binaries of this checkout. The operator is younger than proxy and agent, so that their commit has
 * none.
 */
export type SkewPart = "dataPlane" | "operator";

/** The tag of the last release before this commit; while there is none, the commit of test/skew/previous-version.json. */
export function previousCommit(part: SkewPart): string {
  const tag = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^");
  if (tag !== undefined) return tag;
  const file = path.join(root, "test/skew/previous-version.json");
  return (JSON.parse(readFileSync(file, "utf8")) as Record<SkewPart, string>)[part];
}

/**
 * A checkout of the previous version outside of this one, with its binaries built from its own lock file.
 *
 * @returns Its directory, or why there is none: a shallow clone lacks the commit, and a copy of the sources has no history.
 */
export async function previousVersion(
  part: SkewPart,
): Promise<{ readonly directory: string } | { readonly missing: string }> {
  const wanted = previousCommit(part);
  const commit = git("rev-parse", "--verify", "--quiet", `${wanted}^{commit}`);
  if (commit === undefined)
    return { missing: `this clone does not have the commit ${wanted} of the previous version` };
  const entry = new CacheEntry("previous", `${commit}-${process.platform}-${process.arch}`);
  const directory = await entry.get((unfinished) => {
    build(commit, unfinished);
    return Promise.resolve();
  });
  return { directory };
}

function build(commit: string, directory: string): void {
  const archive = execFileSync("git", ["archive", "--format=tar", commit], {
    cwd: root,
    maxBuffer: 1024 ** 3,
  });
  execFileSync("tar", ["-x", "-C", directory], { input: archive });
  const setUp = [path.join(directory, "scripts/set-up.mjs"), "--build"];
  const { status } = spawnSync(process.execPath, setUp, { cwd: directory, stdio: "inherit" });
  if (status !== 0) throw new Error(`the previous version, ${commit}, could not be built: see above`);
  // The bundles have all that they need.
  rmSync(path.join(directory, "node_modules"), { recursive: true });
}

/** What git prints; undefined if it fails, or is not there. */
function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}
