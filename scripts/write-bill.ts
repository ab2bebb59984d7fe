import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Metafile } from "esbuild";
import { bundledPackages, licenseTexts } from "./bundled-packages.js";
import { sbom } from "./sbom.js";

const root = path.dirname(import.meta.dirname);

/** Writes what a bundle contains, and the licences of that, into `NAME.cdx.json` and `NAME.licenses.txt`. esbuild ran in the root folder. */
export function writeBill(
  folder: string,
  program: { readonly name: string; readonly version: string },
  metafiles: readonly Metafile[],
): void {
  const contents = bundledPackages(metafiles, root);
  const lock = readFileSync(path.join(root, "pnpm-lock.yaml"), "utf8");
  writeFileSync(path.join(folder, `${program.name}.cdx.json`), sbom(program, contents, lock));
  writeFileSync(path.join(folder, `${program.name}.licenses.txt`), licenseTexts(contents));
}
