import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { run } from "../images/buildah.js";
import { publishedPackages } from "./published-packages.js";
import { packageFolder } from "./source-manifest.js";
import { stagePackage } from "./stage-package.js";

/** What `npm pack --json` says of an archive. */
export interface PackedPackage {
  readonly name: string;
  readonly version: string;
  /** The name of the archive. */
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

/** Writes the archives of all packages that are published into a directory, in the order in which they are published. */
export async function packPackages(directory: string): Promise<PackedPackage[]> {
  compileLibraries();
  const staged = mkdtempSync(path.join(tmpdir(), "bunting-packages-"));
  try {
    const folders: string[] = [];
    for (const published of publishedPackages) {
      const folder = path.join(staged, published.folder);
      await stagePackage(published, folder);
      folders.push(folder);
    }
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", directory, ...folders];
    return JSON.parse(run("npm", args)) as PackedPackage[];
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Modules and types of the libraries that are published, and of the private packages that they import. Checking types is what `npm run types` is for. */
function compileLibraries(): void {
  const libraries = publishedPackages.filter(({ built }) => built === undefined);
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const projects = libraries.map(({ folder }) => path.join(packageFolder(folder), "tsconfig.build.json"));
  run(process.execPath, [tsc, "-b", "--noCheck", ...projects]);
}
