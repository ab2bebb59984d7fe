import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ImportGraph } from "./import-graph.js";
import type { FileImports } from "./read-imports.js";
import type { PackageSources } from "./resolve-import.js";

const root = path.dirname(path.dirname(import.meta.dirname));

/** What was read of each file, so that only files that have changed since are read again: all of them take two seconds. */
const cacheFile = path.join(root, "node_modules/.bunting/imports.json");

/** The version of FileImports and of what readImports finds: to be raised when either changes. */
const cacheVersion = 1;

interface Cached {
  readonly version: number;
  readonly files: Record<string, { readonly stamp: string; readonly imports: FileImports }>;
}

/** Reads the imports of all sources of the checkout, those that git does not know yet included. */
export async function workspaceGraph(): Promise<ImportGraph> {
  const known = cached();
  const files: Cached["files"] = {};
  let isChanged = false;
  for (const file of sourceFiles()) {
    const { mtimeMs, size } = statSync(path.join(root, file));
    const stamp = `${mtimeMs} ${size}`;
    const before = known[file];
    if (before?.stamp === stamp) files[file] = before;
    else {
      isChanged = true;
      // The compiler takes half a second to load, for nothing if no file has changed.
      const { readImports } = await import("./read-imports.js");
      files[file] = { stamp, imports: readImports(file, readFileSync(path.join(root, file), "utf8")) };
    }
  }
  if (isChanged || Object.keys(known).length !== Object.keys(files).length) keep(files);
  return new ImportGraph(
    new Map(Object.entries(files).map(([file, { imports }]) => [file, imports])),
    packageSources(),
    (file) => file in files || existsSync(path.join(root, file)),
  );
}

function cached(): Cached["files"] {
  try {
    const { version, files } = JSON.parse(readFileSync(cacheFile, "utf8")) as Cached;
    return version === cacheVersion ? files : {};
  } catch {
    // None yet, or cut off: all files are read.
    return {};
  }
}

function keep(files: Cached["files"]): void {
  mkdirSync(path.dirname(cacheFile), { recursive: true });
  writeFileSync(cacheFile, JSON.stringify({ version: cacheVersion, files } satisfies Cached));
}

function sourceFiles(): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.ts", "*.mjs", "*.cjs"];
  const { stdout, status, stderr } = spawnSync("git", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64e6,
  });
  if (status !== 0) throw new Error(`git can't list the files: ${stderr}`);
  return [...new Set(stdout.split("\0"))].filter((file) => file !== "" && existsSync(path.join(root, file)));
}

/** What the package.json of each of our packages exports under the condition `@bunting/source`. */
function packageSources(): PackageSources {
  const packages = new Map<string, Record<string, string>>();
  for (const folder of workspaceFolders()) {
    const { name, exports = {} } = JSON.parse(
      readFileSync(path.join(root, folder, "package.json"), "utf8"),
    ) as {
      readonly name: string;
      readonly exports?: Readonly<Record<string, { readonly "@bunting/source"?: string }>>;
    };
    const sources: Record<string, string> = {};
    for (const [entry, { "@bunting/source": source }] of Object.entries(exports)) {
      if (source !== undefined) sources[entry] = path.posix.join(folder, source);
    }
    packages.set(name, sources);
  }
  return packages;
}

function workspaceFolders(): string[] {
  const packages = readdirSync(path.join(root, "packages")).map((name) => `packages/${name}`);
  return [...packages, "test", "bench", "examples", "scripts"].filter((folder) =>
    existsSync(path.join(root, folder, "package.json")),
  );
}
