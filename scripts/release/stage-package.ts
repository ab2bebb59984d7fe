import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundleLibrary } from "./bundle-library.js";
import { copyBuilt } from "./copy-built.js";
import { linksOutside } from "./links-outside.js";
import { publishedManifest } from "./published-manifest.js";
import type { PublishedPackage } from "./published-packages.js";
import { packageFolder, readSourceManifest } from "./source-manifest.js";

const root = path.resolve(import.meta.dirname, "../..");

/** Puts what is published of a package into a new folder `target`, as `npm pack` takes it. The programs must be bundled, and the libraries compiled. */
export async function stagePackage(published: PublishedPackage, target: string): Promise<void> {
  const { folder, name, built } = published;
  const source = packageFolder(folder);
  const manifest = publishedManifest(readSourceManifest(folder), name, built !== undefined);
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  copyFileSync(path.join(root, "LICENSE"), path.join(target, "LICENSE"));
  const page = readFileSync(path.join(source, "README.md"), "utf8");
  const { version } = readSourceManifest(folder);
  writeFileSync(
    path.join(target, "README.md"),
    linksOutside(page, `packages/${folder}/README.md`, { isPacked: () => false, version }),
  );
  for (const part of built ?? []) copyBuilt(path.join(source, part), path.join(target, part));
  if (built !== undefined) return;
  await bundleLibrary(folder, path.join(target, "dist"));
  for (const interfaces of ["proto", "openapi.yaml"])
    if (existsSync(path.join(source, interfaces)))
      cpSync(path.join(source, interfaces), path.join(target, interfaces), { recursive: true });
}
