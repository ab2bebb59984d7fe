/**
 * `npm run release -- --dry-run`: makes all that a release publishes, without a registry, in ./release or `--out DIRECTORY`: notes, packages of npm,
 * charts, the site of the documentation, examples, images for both architectures, and checksums. `--only packages,charts` leaves out what takes minutes. It takes the sources of the last
 * commit, so it refuses a tree with changes unless `--allow-dirty` says that this does not matter. docs/releases.md has more.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { run } from "../images/buildah.js";
import { checksumFile, writeChecksums } from "./checksums.js";
import { releaseNotes } from "./release-notes.js";
import { releaseOptions, releaseUsage, type ReleaseOptions, type ReleasePart } from "./release-options.js";
import { agreedVersion } from "./stated-versions.js";

const root = path.resolve(import.meta.dirname, "../..");

/** How each part is made in a folder of its own. What it takes is loaded when it is made: a refusal needs no compiler. */
const makers: Readonly<Record<ReleasePart, (directory: string, version: string) => Promise<unknown>>> = {
  packages: async (directory) => (await import("./pack-packages.js")).packPackages(directory),
  charts: async (directory) => (await import("./package-charts.js")).packageCharts(directory),
  docs: async (directory, version) => (await import("./package-docs.js")).packageDocs(directory, version),
  examples: async (directory, version) =>
    (await import("./package-examples.js")).packageExamples(directory, version),
  images: async (directory, version) => (await import("./write-images.js")).writeImages(directory, version),
};

async function release({ parts, directory, allowDirty, tag }: ReleaseOptions): Promise<void> {
  const version = agreedVersion(root);
  if (tag !== undefined && tag !== `v${version}`)
    throw new Error(
      `the tag is ${tag}, but the version is ${version}: tag v${version}, or raise the version`,
    );
  const notes = releaseNotes(
    readFileSync(path.join(root, "CHANGELOG.md"), "utf8"),
    version,
    tag !== undefined,
  );
  const changes = run("git", ["-C", root, "status", "--porcelain"]).trim();
  if (changes !== "" && !allowDirty)
    throw new Error(
      `the tree has changes that are not committed; commit them, or pass --allow-dirty:\n${changes}`,
    );
  makeEmpty(directory);
  writeFileSync(path.join(directory, "notes.md"), notes);
  for (const part of parts) {
    const folder = path.join(directory, part);
    mkdirSync(folder);
    await makers[part](folder, version);
  }
  writeChecksums(directory);
  console.log(`bunting ${version}: ${parts.join(", ")} in ${directory}; nothing was published`);
}

/** Removes an earlier rehearsal, and nothing else. */
function makeEmpty(directory: string): void {
  const isEarlier = existsSync(path.join(directory, checksumFile));
  if (existsSync(directory) && readdirSync(directory).length > 0 && !isEarlier)
    throw new Error(`${directory} holds other files: name an empty directory with --out`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
}

const argv = process.argv.slice(2);
try {
  if (argv.includes("--help")) console.log(releaseUsage);
  else await release(releaseOptions(argv));
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
