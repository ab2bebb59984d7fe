import { cpSync, existsSync, symlinkSync } from "node:fs";
import path from "node:path";

const checkout = path.dirname(import.meta.dirname);

/** What is built is of no use for tests of sources. */
const leftOut = new Set(["dist", ".cache"]);
const copied = [
  "package.json",
  "tsconfig.base.json",
  ".dependency-cruiser.cjs",
  ".mocharc.json",
  "packages",
  "test",
  "bench",
  "scripts",
];

/**
 * Copies the sources into an empty folder, for who changes them to see what becomes of it, while tests and other checks read the tree. Links
 * between packages are relative, so they lead to the copy; what is installed is that of the checkout.
 */
export function copySources(target: string): void {
  for (const name of copied.filter((each) => existsSync(path.join(checkout, each)))) {
    cpSync(path.join(checkout, name), path.join(target, name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !leftOut.has(path.basename(source)),
    });
  }
  symlinkSync(path.join(checkout, "node_modules"), path.join(target, "node_modules"));
}
