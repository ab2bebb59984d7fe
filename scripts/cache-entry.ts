import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import path from "node:path";
import { cacheDirectory } from "./cache-directory.js";
import { withLock, withLockSync } from "./lock-file.js";

/** How many entries of one name are kept, those that were used last. */
const keptEntries = 2;
/** What was used within this time is kept in any case, since tests of another checkout may be running it. */
const inUseMs = 60 * 60_000;
/** What a killed build has left is removed after this time. */
const unfinishedMs = 24 * 60 * 60_000;

/**
 * A directory of what takes minutes to build or fetch, kept outside of the tree for all checkouts. It is there as a whole or not at all. A new
 * entry removes the oldest ones of its name.
 */
export class CacheEntry {
  readonly directory: string;
  readonly #folder: string;

  /** @param key changes with whatever the content is made of. */
  constructor(name: string, key: string) {
    this.#folder = cacheDirectory(name);
    this.directory = path.join(this.#folder, key);
  }

  /**
   * Its directory, which `make` fills if it is not there yet.
   *
   * @param make gets a directory beside the final one. If it rejects, so does this, and nothing is left.
   */
  async get(make: (unfinished: string) => Promise<void>): Promise<string> {
    if (this.#use()) return this.directory;
    return withLock(this.#lock(), async () => {
      if (this.#use()) return this.directory;
      const unfinished = this.#begin();
      try {
        await make(unfinished);
        return this.#finish(unfinished);
      } finally {
        rmSync(unfinished, { recursive: true, force: true });
      }
    });
  }

  /** The same for a `make` that holds up this process. */
  getSync(make: (unfinished: string) => void): string {
    if (this.#use()) return this.directory;
    return withLockSync(this.#lock(), () => {
      if (this.#use()) return this.directory;
      const unfinished = this.#begin();
      try {
        make(unfinished);
        return this.#finish(unfinished);
      } finally {
        rmSync(unfinished, { recursive: true, force: true });
      }
    });
  }

  /** Whether it is there. Its time says when it was used last. */
  #use(): boolean {
    if (!existsSync(this.directory)) return false;
    const now = new Date();
    utimesSync(this.directory, now, now);
    return true;
  }

  #lock(): string {
    mkdirSync(this.#folder, { recursive: true });
    return path.join(this.#folder, `.lock-${path.basename(this.directory)}`);
  }

  #begin(): string {
    return mkdtempSync(path.join(this.#folder, ".building-"));
  }

  #finish(unfinished: string): string {
    // Two processes may have taken the lock of a third that was killed.
    if (!existsSync(this.directory)) renameSync(unfinished, this.directory);
    this.#use();
    this.#prune();
    return this.directory;
  }

  #prune(): void {
    const all = readdirSync(this.#folder).map((name) => {
      const file = path.join(this.#folder, name);
      return { name, file, ageMs: Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) };
    });
    const entries = all.filter(({ name }) => !name.startsWith(".")).sort((a, b) => a.ageMs - b.ageMs);
    const old = entries.slice(keptEntries).filter(({ ageMs }) => ageMs > inUseMs);
    const left = all.filter(({ name, ageMs }) => name.startsWith(".building-") && ageMs > unfinishedMs);
    for (const { file } of [...old, ...left]) rmSync(file, { recursive: true, force: true });
  }
}
