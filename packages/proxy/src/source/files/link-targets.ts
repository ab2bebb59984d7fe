import { dirname, join } from "node:path";
import { directoryIdentity, DirectoryWatch } from "./directory-watch.js";
import type { WatchedFile } from "./watched-file.js";

/**
 * Watches the directories that symbolic links lead to: what happens to a link's target makes no event where the link is. Only the
 * last step counts; a link in the middle of a longer way is noticed by the periodic re-scan.
 */
export class LinkTargets {
  readonly #note: (kind: "rename" | "change", file: WatchedFile) => void;
  readonly #watches = new Map<string, DirectoryWatch>();
  #linksTo = new Map<string, WatchedFile[]>();

  constructor(note: (kind: "rename" | "change", file: WatchedFile) => void) {
    this.#note = note;
  }

  /** Watches the targets of those among the files that are links, and nothing else any more. */
  async follow(files: Iterable<WatchedFile>): Promise<void> {
    this.#linksTo = new Map();
    const wanted = new Map<string, WatchedFile[]>();
    for (const file of files) {
      if (file.linkTarget === undefined) continue;
      push(this.#linksTo, file.linkTarget, file);
      push(wanted, dirname(file.linkTarget), file);
    }
    for (const directory of this.#watches.keys()) if (!wanted.has(directory)) this.#stop(directory);
    for (const [directory, links] of wanted) await this.#watch(directory, links);
  }

  close(): void {
    for (const directory of [...this.#watches.keys()]) this.#stop(directory);
  }

  async #watch(directory: string, links: readonly WatchedFile[]): Promise<void> {
    try {
      if (this.#watches.get(directory)?.identity === (await directoryIdentity(directory))) return;
      this.#stop(directory);
      const watch = await DirectoryWatch.open(
        directory,
        (kind, name) => this.#onEvent(kind, directory, name),
        () => this.#stop(directory),
      );
      this.#watches.set(directory, watch);
      for (const link of links) link.doubt();
    } catch {
      // It is gone again, or can't be watched: then the re-scans have to do, and the directory of the link says so.
      this.#stop(directory);
    }
  }

  #onEvent(kind: "rename" | "change", directory: string, name: string | null): void {
    for (const [target, links] of this.#linksTo) {
      const isMeant = name === null ? dirname(target) === directory : target === join(directory, name);
      if (isMeant) for (const link of links) this.#note(name === null ? "change" : kind, link);
    }
  }

  #stop(directory: string): void {
    this.#watches.get(directory)?.close();
    this.#watches.delete(directory);
  }
}

function push(map: Map<string, WatchedFile[]>, key: string, file: WatchedFile): void {
  const files = map.get(key);
  if (files === undefined) map.set(key, [file]);
  else files.push(file);
}
