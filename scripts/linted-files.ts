import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { ESLint } from "eslint";
import { closureDigests } from "./imports/closure-digests.js";
import { workspaceGraph } from "./imports/workspace-graph.js";

const root = path.dirname(import.meta.dirname);

/** What says how all files are judged: the rules, what npm's packages and ours are and export, how TypeScript reads them, and types without a module. */
const common = [
  ...["eslint.config.js", "pnpm-lock.yaml", "scripts/lint.ts", "scripts/linted-files.ts"],
  ...["*package.json", "*tsconfig*.json", "*.d.ts"],
];

/** The files that eslint judges of a whole checkout, each with a digest of all that its verdict depends on. */
export async function lintedFiles(eslint: ESLint): Promise<ReadonlyMap<string, string>> {
  const graph = await workspaceGraph();
  const files: string[] = [];
  for (const file of graph.files) if (!(await eslint.isPathIgnored(file))) files.push(file);
  return closureDigests(graph, files, { common: commonDigest(), contentOf });
}

function commonDigest(): string {
  const { stdout, status, stderr } = spawnSync("git", ["ls-files", "-z", ...common], {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`git can't list the files: ${stderr}`);
  const digest = createHash("sha256");
  for (const file of stdout.split("\0").filter(Boolean)) digest.update(`${file}\0`).update(contentOf(file));
  return digest.digest("base64");
}

function contentOf(file: string): Buffer {
  return readFileSync(path.join(root, file));
}
