import { createHash } from "node:crypto";
import type { ImportGraph } from "./import-graph.js";

/**
 * Of each file a digest that changes with its own content, with that of each file that it imports, types included, directly or through others, and with
 * where those are. What judges a file by types judges it as before while this is the same.
 *
 * @param common what all of them depend on: versions, configuration
 * @param contentOf of a file, or of what is imported, whatever that is
 */
export function closureDigests(
  graph: ImportGraph,
  files: readonly string[],
  { common, contentOf }: { readonly common: string; readonly contentOf: (file: string) => string | Buffer },
): Map<string, string> {
  const ownDigests = new Map<string, string>();
  const ownDigest = (file: string): string => {
    const known = ownDigests.get(file) ?? createHash("sha256").update(contentOf(file)).digest("base64");
    ownDigests.set(file, known);
    return known;
  };
  const imports = new Map<string, ReadonlySet<string>>();
  const importsOf = (file: string): ReadonlySet<string> => {
    const known = imports.get(file) ?? graph.imported(file);
    imports.set(file, known);
    return known;
  };
  const digestOf = (file: string): string => {
    const reached = new Set([file]);
    // Files that are added meanwhile have their turn, too.
    for (const each of reached) for (const imported of importsOf(each)) reached.add(imported);
    // Files of a circle reach the same.
    const digest = createHash("sha256").update(`${common}\0${file}\0`);
    for (const each of [...reached].sort()) digest.update(`${each}\0${ownDigest(each)}\0`);
    return digest.digest("base64");
  };
  return new Map(files.map((file) => [file, digestOf(file)]));
}
