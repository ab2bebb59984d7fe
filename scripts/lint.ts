/**
 * `npm run lint`: eslint with types, prettier and buf. Each folder with a tsconfig gets an eslint of its own, because one that holds the types of
 * all of them takes 5 GB, and with them one at a time it is 1.5 GB and half as long.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const folders = [".", "packages"]
  .flatMap((parent) => readdirSync(path.join(root, parent)).map((name) => path.join(parent, name)))
  .filter((folder) => existsSync(path.join(root, folder, "tsconfig.json")));
const failed = [
  ...folders.filter((folder) => !passes("eslint", folder)),
  ...(passes("prettier", "--check", "--log-level=warn", ".") ? [] : ["prettier"]),
  ...(passes("buf", "lint", "packages/protocol") ? [] : ["buf"]),
];
if (failed.length > 0) {
  console.error(`lint: failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

function passes(tool: string, ...args: readonly string[]): boolean {
  const { status, error } = spawnSync(path.join(root, "node_modules", ".bin", tool), args, {
    cwd: root,
    stdio: "inherit",
  });
  if (error) throw error;
  return status === 0;
}
