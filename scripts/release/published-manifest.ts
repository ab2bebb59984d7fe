import type { SourceManifest } from "./source-manifest.js";

/** What only the workspace has a use for. */
const ofWorkspace = ["private", "scripts", "devDependencies"];

/**
 * The package.json that is published: without what only the workspace uses, and with the versions of our other packages, which are released
 * together. A program has its dependencies in its bundle.
 */
export function publishedManifest(
  source: SourceManifest,
  name: string,
  isBundled: boolean,
): Readonly<Record<string, unknown>> {
  const kept = Object.entries(source).filter(([field]) => !ofWorkspace.includes(field));
  const { exports, dependencies, ...rest } = Object.fromEntries(kept) as Partial<SourceManifest>;
  const shown = exports === undefined ? [] : publishedExports(exports);
  return {
    ...rest,
    name,
    ...(shown.length > 0 ? { exports: Object.fromEntries(shown) } : {}),
    ...(dependencies === undefined || isBundled
      ? {}
      : { dependencies: publishedDependencies(dependencies, source.version) }),
  };
}

function publishedExports(exports: NonNullable<SourceManifest["exports"]>): [string, object][] {
  return Object.entries(exports).flatMap(([entry, conditions]): [string, object][] => {
    const shown = Object.entries(conditions).filter(([condition]) => condition !== "@bunting/source");
    return shown.length > 0 ? [[entry, Object.fromEntries(shown)]] : [];
  });
}

function publishedDependencies(
  dependencies: Readonly<Record<string, string>>,
  version: string,
): Record<string, string> {
  const published = Object.entries(dependencies).map(([name, range]) => [
    name,
    range.startsWith("workspace:") ? version : range,
  ]);
  return Object.fromEntries(published) as Record<string, string>;
}
