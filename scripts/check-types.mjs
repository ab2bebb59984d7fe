// Type-checks everything that `tsc -b` does not build: tests, benchmarks, examples.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const projects = [
  ...readdirSync(path.join(root, "packages")).map((name) => `packages/${name}`),
  "test",
  "bench",
  "examples",
  "scripts",
];
for (const project of projects) {
  console.log(`types: ${project}`);
  const { status } = spawnSync(
    process.execPath,
    [path.join(root, "node_modules/typescript/bin/tsc"), "-p", project],
    {
      cwd: root,
      stdio: "inherit",
    },
  );
  if (status !== 0) process.exit(1);
}
