import type { Plugin } from "esbuild";

/**
 * An esbuild plugin that keeps each `import("package")` as it is and points it at `chunks/package.mjs` beside the bundle. `found` receives
 * the entry file of each such package by name: what to build the chunks from.
 */
export function loadOnDemand(found: Map<string, string>): Plugin {
  return {
    name: "load-on-demand",
    setup(build) {
      build.onResolve({ filter: /^[^.]/ }, async ({ path, kind, resolveDir, pluginData }) => {
        if (kind !== "dynamic-import" || pluginData === "resolved") return undefined;
        const resolved = await build.resolve(path, { kind, resolveDir, pluginData: "resolved" });
        if (resolved.errors.length > 0) return { errors: resolved.errors };
        found.set(path, resolved.path);
        return { path: `./chunks/${path}.mjs`, external: true };
      });
    },
  };
}
