import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Plugin } from "esbuild";

export interface Amendment {
  /** The package. */
  readonly of: string;
  /** A file of it, as the package names it. */
  readonly file: string;
  /** Text that is in the file exactly once. */
  readonly find: string;
  readonly replaceWith: string;
  /** What is wrong with it, and why it can't be mended from outside. */
  readonly reason: string;
}

/**
 * An esbuild plugin that changes lines of our dependencies as they are bundled, where they hold memory that nothing needs. The sources and their
 * tests run without the changes, so these must not change what the code does. The build fails if a text is no longer there, because a new
 * version of that package has to be looked at.
 */
export function amend(list: readonly Amendment[]): Plugin {
  return {
    name: "amend",
    setup(build) {
      const found = new Set<Amendment>();
      build.onLoad({ filter: /[/\\]node_modules[/\\]/ }, async ({ path: file }) => {
        const amendments = list.filter((each) => isFile(file, each));
        if (amendments.length === 0) return undefined;
        let contents = await readFile(file, "utf8");
        for (const each of amendments) {
          if (contents.split(each.find).length !== 2) continue;
          contents = contents.replace(each.find, () => each.replaceWith);
          found.add(each);
        }
        return { contents, loader: "js" };
      });
      build.onEnd(() => ({
        errors: list
          .filter((each) => !found.has(each))
          .map(({ of, file, find }) => ({
            text: `${of}/${file} has no longer, or more than once, what is to be amended: ${find}`,
          })),
      }));
    },
  };
}

function isFile(loaded: string, { of, file }: Amendment): boolean {
  return loaded.endsWith(path.join("node_modules", of, file));
}
