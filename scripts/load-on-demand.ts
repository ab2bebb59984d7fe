import { parse } from "node:path";
import type { Plugin } from "esbuild";

/**
 * An esbuild plugin that keeps each `import("…")`, of a package or of a file of ours, as it is and points it at `chunks/NAME.mjs` beside the
 * bundle. `found` receives the entry file of each such module by name: what to build the chunks from. Those of `inBundle`, as they are named
 * in `import("…")`, stay in the bundle, which evaluates them on first use.
 */
export function loadOnDemand(found: Map<string, string>, inBundle: readonly string[] = []): Plugin {
  return {
    name: "load-on-demand",
    setup(build) {
      build.onResolve({ filter: /./ }, async ({ path, kind, resolveDir, pluginData }) => {
        if (kind !== "dynamic-import" || pluginData === "resolved" || inBundle.includes(path))
          return undefined;
        const resolved = await build.resolve(path, { kind, resolveDir, pluginData: "resolved" });
        if (resolved.errors.length > 0) return { errors: resolved.errors };
        const name = path.startsWith(".") ? parse(path).name : path;
        const other = found.get(name);
        if (other !== undefined && other !== resolved.path) {
          return { errors: [{ text: `${other} and ${resolved.path} would be the same chunk: rename one` }] };
        }
        found.set(name, resolved.path);
        return { path: `./chunks/${name}.mjs`, external: true };
      });
    },
  };
}
