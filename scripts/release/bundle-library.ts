import { isBuiltin } from "node:module";
import path from "node:path";
import { rollup, type Plugin } from "rollup";
import { dts } from "rollup-plugin-dts";
import { packageFolder, readSourceManifest, type SourceManifest } from "./source-manifest.js";

/** The names of the workspace's packages begin with it; the folder follows, and maybe an export. */
const scope = "@bunting/";

/**
 * Bundles what `tsc -b` has made of a library into `target`: a module and its types for each export, with the code of the private packages that
 * it imports. Its dependencies stay imports. There are no source maps, because the sources are not published.
 */
export async function bundleLibrary(folder: string, target: string): Promise<void> {
  const manifest = readSourceManifest(folder);
  for (const condition of ["default", "types"] as const) {
    const suffix = condition === "types" ? ".d.ts" : ".js";
    const bundle = await rollup({
      input: entriesOf(folder, manifest, condition, suffix),
      plugins: [resolveOurs(manifest, condition), ...(condition === "types" ? [dts(), nameNode] : [])],
      onLog: (_level, { message }) => {
        throw new Error(`bundling ${manifest.name}: ${message}`);
      },
    });
    const { output } = await bundle.write({
      dir: target,
      entryFileNames: `[name]${suffix}`,
      chunkFileNames: `chunks/[name]-[hash]${suffix}`,
    });
    await bundle.close();
    const imports = output.flatMap((file) =>
      file.type === "chunk" ? [...file.imports, ...file.dynamicImports] : [],
    );
    const outside = imports.filter((name) => !output.some(({ fileName }) => fileName === name));
    const missing = outside.find((name) => !isBuiltin(name) && !isDependency(name, manifest));
    if (missing !== undefined)
      throw new Error(`${manifest.name} imports ${missing}, which would be missing where it is installed`);
  }
}

/** Such as `{ checks: ".../featureflags/dist/checks.js" }`. */
function entriesOf(
  folder: string,
  manifest: SourceManifest,
  condition: string,
  suffix: string,
): Record<string, string> {
  const files = Object.values(manifest.exports ?? {}).flatMap((conditions) => conditions[condition] ?? []);
  return Object.fromEntries(
    files.map((file) => [path.basename(file, suffix), path.join(packageFolder(folder), file)]),
  );
}

/** Finds our packages, and keeps all others outside. Modules do nothing by being loaded, so that one from which nothing is used is left out. */
function resolveOurs(manifest: SourceManifest, condition: string): Plugin {
  return {
    name: "resolve-ours",
    resolveId: (specifier) => {
      if (specifier.startsWith(".") || path.isAbsolute(specifier)) return null;
      const isInside = specifier.startsWith(scope) && !isDependency(specifier, manifest);
      return isInside
        ? { id: fileOfExport(specifier.slice(scope.length), condition), moduleSideEffects: false }
        : { id: specifier, external: true, moduleSideEffects: false };
    },
  };
}

function isDependency(specifier: string, { dependencies = {} }: SourceManifest): boolean {
  return Object.keys(dependencies).some((name) => specifier === name || specifier.startsWith(`${name}/`));
}

/** `files/text` is what `@bunting/files` exports as `./text`. */
function fileOfExport(specifier: string, condition: string): string {
  const [folder = "", ...rest] = specifier.split("/");
  const file = readSourceManifest(folder).exports?.[[".", ...rest].join("/")]?.[condition];
  if (file === undefined) throw new Error(`${scope}${specifier} is not exported`);
  return path.join(packageFolder(folder), file);
}

/** Types that use a type of node's say so: TypeScript 6 includes none by itself. */
const nameNode: Plugin = {
  name: "name-node",
  renderChunk: (code) => (/\bBuffer\b/.test(code) ? `/// <reference types="node" />\n${code}` : null),
};
