// Some modules of our dependencies come along with what we use and are never called. The agent is counted in kilobytes, so they stay out of
// its bundle: each is replaced by one that throws its name at whoever calls it after all.
import path from "node:path";

/**
 * An esbuild plugin. The build fails if one of `modules` is not there to be left out: a new version of the package has to be looked at.
 *
 * @param {readonly { from: string, modules: readonly string[], reason: string }[]} list `modules` as the files of the package `from` name
 *   them in require().
 */
export function leaveOut(list) {
  const entries = list.flatMap(({ from, modules }) => modules.map((module) => ({ from, module })));
  return {
    name: "leave-out",
    setup(build) {
      const found = new Set();
      build.onResolve({ filter: /./, namespace: "file" }, ({ path: module, importer }) => {
        const entry = entries.find((each) => each.module === module && isIn(importer, each.from));
        if (entry === undefined) return undefined;
        found.add(entry);
        return { path: `${entry.from}: ${entry.module}`, namespace: "left-out" };
      });
      build.onLoad({ filter: /./, namespace: "left-out" }, ({ path: name }) => ({
        contents: refusing(name),
      }));
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

function isIn(importer, packageName) {
  return importer.includes(`${path.sep}node_modules${path.sep}${path.normalize(packageName)}${path.sep}`);
}

/** A module whose exports may be looked at but not called; `setup`, by which grpc-js lets its parts register, registers nothing. */
function refusing(name) {
  const message = `${name} was left out of this bundle (scripts/left-out-of-agent.mjs)`;
  return `
    const refuse = () => { throw new Error(${JSON.stringify(message)}); };
    const callable = function () { refuse(); };
    module.exports = new Proxy(callable, {
      get: (target, key) => typeof key === "symbol" || key === "__esModule" || key === "default" ? undefined : key === "setup" ? () => {} : callable,
    });`;
}
