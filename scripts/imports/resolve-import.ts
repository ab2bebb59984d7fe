import path from "node:path";

/** The exports of our packages, from their package.json: pattern → source file, both with at most one `*`. */
export type PackageSources = ReadonlyMap<string, Readonly<Record<string, string>>>;

/**
 * Finds the source file that an import means: a relative one, or one of our packages under the condition `@bunting/source`.
 * Undefined for modules of node and of npm.
 *
 * @param file the importing file, relative to the checkout, as the result is.
 */
export function resolveImport(
  specifier: string,
  file: string,
  packages: PackageSources,
  exists: (file: string) => boolean,
): string | undefined {
  const target = specifier.startsWith(".")
    ? path.posix.join(path.posix.dirname(file), specifier)
    : sourceOf(specifier, packages);
  if (target === undefined) return undefined;
  // TypeScript's imports name the JavaScript that a build writes.
  return [target.replace(/\.js$/, ".ts"), target].find(exists);
}

function sourceOf(specifier: string, packages: PackageSources): string | undefined {
  const [scope, name, ...rest] = specifier.split("/");
  const sources = packages.get(`${scope ?? ""}/${name ?? ""}`);
  if (sources === undefined) return undefined;
  const entry = rest.length === 0 ? "." : `./${rest.join("/")}`;
  const exact = sources[entry];
  if (exact !== undefined) return exact;
  for (const [pattern, source] of Object.entries(sources)) {
    const [before, after] = pattern.split("*");
    if (before === undefined || after === undefined) continue;
    if (entry.startsWith(before) && entry.endsWith(after) && entry.length >= pattern.length) {
      return source.replace("*", entry.slice(before.length, entry.length - after.length));
    }
  }
  return undefined;
}
