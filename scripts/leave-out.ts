import path from "node:path";
import type { Plugin } from "esbuild";

export interface LeftOut {
  /** The package whose files require the modules. */
  readonly from: string;
  /** The modules as those files name them in `require()`. */
  readonly modules: readonly string[];
  /** The text of the module that takes their place, as if it were the file that requires them; a stub that throws, if absent. */
  readonly instead?: string;
  /** Why the bundle works without them. */
  readonly reason: string;
}

interface Taken {
  readonly instead: string | undefined;
  /** Of the file that requires the module. */
  readonly folder: string;
}

/**
 * An esbuild plugin that leaves modules out of the bundle which our dependencies load but never call on our behalf: the agent's memory is
 * counted in kilobytes. Each is replaced by a stub that throws its name when called, or by what the list has for it. The build fails if a module is no longer required by
 * its package, because a new version of that package has to be looked at.
 */
export function leaveOut(list: readonly LeftOut[]): Plugin {
  const entries = list.flatMap(({ from, modules, instead }) =>
    modules.map((module) => ({ from, module, instead })),
  );
  return {
    name: "leave-out",
    setup(build) {
      const found = new Set<(typeof entries)[number]>();
      build.onResolve({ filter: /./, namespace: "file" }, ({ path: module, importer }) => {
        const entry = entries.find((each) => each.module === module && isIn(importer, each.from));
        if (entry === undefined) return undefined;
        found.add(entry);
        const pluginData: Taken = { instead: entry.instead, folder: path.dirname(importer) };
        return { path: `${entry.from}: ${entry.module}`, namespace: "left-out", pluginData };
      });
      build.onLoad({ filter: /./, namespace: "left-out" }, ({ path: name, pluginData }) => {
        const { instead, folder } = pluginData as Taken;
        return { contents: instead ?? stubOf(name), resolveDir: folder };
      });
      build.onEnd(() => ({
        errors: entries
          .filter((entry) => !found.has(entry))
          .map(({ from, module }) => ({
            text: `${from} no longer requires ${module}: nothing to leave out`,
          })),
      }));
    },
  };
}

function isIn(importer: string, packageName: string): boolean {
  return importer.includes(`${path.sep}node_modules${path.sep}${path.normalize(packageName)}${path.sep}`);
}

/** A module whose exports may be read but not called; only `setup`, by which parts of grpc-js register themselves, does nothing. */
function stubOf(name: string): string {
  const message = `${name} was left out of this bundle (scripts/left-out-of-agent.ts)`;
  return `
    const refuse = () => { throw new Error(${JSON.stringify(message)}); };
    const callable = function () { refuse(); };
    module.exports = new Proxy(callable, {
      get: (target, key) => typeof key === "symbol" || key === "__esModule" || key === "default" ? undefined : key === "setup" ? () => {} : callable,
    });`;
}
