/**
 * An esbuild plugin that leaves each `import("package")` in the code, to be read from `chunks/package.mjs` beside the bundle. `found` gets
 * the file of each package, by name: what to build the chunks of.
 *
 * @param {Map<string, string>} found
 */
export function loadOnDemand(found) {
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
