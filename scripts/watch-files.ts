import { watch, type FSWatcher } from "node:fs";
import path from "node:path";

/** Editors write a file in several steps, and a `git checkout` many files, in milliseconds. */
const settleMs = 100;

/**
 * Calls `onChanged` with the files that have changed in any of the folders, not in folders within them, once nothing has changed for 100 ms.
 * A folder by itself, because a recursive watch would follow the links in node_modules.
 *
 * @returns what ends it.
 */
export function watchFiles(
  folders: Iterable<string>,
  onChanged: (files: readonly string[]) => void,
): () => void {
  const changed = new Set<string>();
  let settling: NodeJS.Timeout | undefined;
  const watchers: FSWatcher[] = [];
  for (const folder of folders) {
    const watcher = watch(folder, (_, name) => {
      if (name === null) return;
      changed.add(path.join(folder, name));
      clearTimeout(settling);
      settling = setTimeout(() => {
        const files = [...changed];
        changed.clear();
        onChanged(files);
      }, settleMs);
    });
    // The folder is gone: its files are reported by the folder above it.
    watcher.on("error", () => watcher.close());
    watchers.push(watcher);
  }
  return () => {
    clearTimeout(settling);
    for (const watcher of watchers) watcher.close();
  };
}
