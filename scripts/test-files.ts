import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);

/** Folders of test/ whose tests need root or tools that are built first; each has a script of its own, such as test:cluster. */
const withTools = ["cluster", "helm", "images", "node", "skew"];
/** Others of bench/ measure, and are run by `npm run bench`. */
const ofBench = ["fixtures", "fan-out", "load", "servers"];

/** Every file that `npm test` runs: those whose tests need nothing but node. */
export function allTestFiles(): readonly string[] {
  const folders = [
    ...foldersIn("packages").map((name) => `packages/${name}/src`),
    ...foldersIn("test")
      .filter((name) => !withTools.includes(name))
      .map((name) => `test/${name}`),
    ...ofBench.map((name) => `bench/${name}`),
    "scripts",
  ];
  return folders.flatMap((folder) => testFilesBelow(folder));
}

/** Files of tests in a folder and those within it; none if there is no such folder. */
export function testFilesBelow(folder: string): readonly string[] {
  if (!existsSync(path.join(root, folder))) return [];
  const entries = readdirSync(path.join(root, folder), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"));
  return [
    ...files.map(({ name }) => path.posix.join(folder, name)),
    // Not `recursive`, which would follow the links of node_modules round and round.
    ...foldersIn(folder).flatMap((name) => testFilesBelow(path.posix.join(folder, name))),
  ];
}

function foldersIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
    .map(({ name }) => name);
}
