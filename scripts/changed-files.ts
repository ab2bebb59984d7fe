import { spawnSync } from "node:child_process";
import path from "node:path";

const root = path.dirname(import.meta.dirname);

/**
 * The files that differ from the commit where this branch left `ref`: committed since or not, and those that git does not know yet. What
 * has changed on the other branch meanwhile does not count.
 *
 * @throws Error if there is no such commit.
 */
export function changedSince(ref: string, directory: string = root): string[] {
  const base = git(directory, ["merge-base", ref, "HEAD"]).join("");
  const known = git(directory, ["diff", "--name-only", "--no-renames", "-z", base, "--"]);
  const unknown = git(directory, ["ls-files", "--others", "--exclude-standard", "-z"]);
  return [...known, ...unknown].sort();
}

function git(directory: string, args: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync("git", args, {
    cwd: directory,
    encoding: "utf8",
    maxBuffer: 64e6,
  });
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.trim()}`);
  return stdout.split(/[\0\n]/).filter((name) => name !== "");
}
