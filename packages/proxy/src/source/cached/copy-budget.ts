import { copyFileSuffix, refusedSuffix, sweepCopies } from "@bunting/files/copies";
import { isShortage } from "@bunting/runtime";
import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";

/** Keeps the copies in a directory below a size: those written longest ago are removed, also if they are of earlier processes. */
export class CopyBudget {
  readonly #directory: string;
  readonly #maxBytes: number;
  /** Called when a copy was removed to make room. */
  readonly #onRemoved: (file: string) => void;
  /** Sizes in bytes by name; the one written longest ago first. */
  #sizes = new Map<string, number>();
  #bytes = 0;
  #isCounted = false;
  #counting: Promise<void> | undefined;
  /** Names of the files that are just being replaced: what is removed of such a name may be the new file. */
  readonly #underWay = new Set<string>();

  constructor(directory: string, maxBytes: number, onRemoved: (file: string) => void) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
    this.#onRemoved = onRemoved;
  }

  /** True if there is a copy that was not refused. */
  get hasAny(): boolean {
    for (const name of this.#sizes.keys()) if (name.endsWith(copyFileSuffix)) return true;
    return false;
  }

  /** False if there is no such file; true as well while that is not known. */
  mayHave(file: string): boolean {
    return !this.#isCounted || this.#sizes.has(path.basename(file));
  }

  /**
   * Counts what earlier processes left. Never rejects: a directory that can't be read has no copies either, unless only this process can't for now;
   * then it is not known what is there, until it is counted before a write.
   */
  count(): Promise<void> {
    return (this.#counting ??= this.#count().finally(() => (this.#counting = undefined)));
  }

  async #count(): Promise<void> {
    await sweepCopies(this.#directory, () => true);
    const names = await readdir(this.#directory).catch((error: unknown) =>
      isShortage(error) ? undefined : [],
    );
    if (names === undefined) return;
    const found: { readonly name: string; readonly size: number; readonly mtimeMs: number }[] = [];
    for (const name of names) {
      if (!name.endsWith(copyFileSuffix) && !name.endsWith(refusedSuffix)) continue;
      const stats = await stat(path.join(this.#directory, name)).catch(() => undefined);
      if (stats?.isFile() === true) found.push({ name, size: stats.size, mtimeMs: stats.mtimeMs });
    }
    // What was written meanwhile is newer.
    const written = this.#sizes;
    // A file that is larger than all copies may be goes first: it would take the others with it.
    const isTooLarge = (size: number): number => (size > this.#maxBytes ? 1 : 0);
    found.sort((a, b) => isTooLarge(b.size) - isTooLarge(a.size) || a.mtimeMs - b.mtimeMs);
    this.#sizes = new Map();
    for (const { name, size } of found) if (!written.has(name)) this.#sizes.set(name, size);
    for (const [name, size] of written) this.#sizes.set(name, size);
    this.#bytes = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    this.#isCounted = true;
    this.#makeRoom();
  }

  /**
   * Counts what a write of a file leaves of it.
   *
   * @param write resolves with its size in bytes, or with 0 if it is gone
   */
  async counted(file: string, write: () => Promise<number>): Promise<void> {
    const name = path.basename(file);
    let size: number | undefined;
    this.#underWay.add(name);
    try {
      if (!this.#isCounted) await this.count();
      size = await write();
    } finally {
      this.#underWay.delete(name);
      this.written(file, size ?? this.#sizes.get(name) ?? 0);
    }
  }

  /** A file was written, with this size, or is gone, with 0. */
  written(file: string, sizeBytes: number): void {
    const name = path.basename(file);
    this.#bytes += sizeBytes - (this.#sizes.get(name) ?? 0);
    this.#sizes.delete(name);
    // One that is larger than all may be goes first, as if it were the oldest.
    if (sizeBytes > this.#maxBytes) this.#sizes = new Map([[name, sizeBytes], ...this.#sizes]);
    else if (sizeBytes > 0) this.#sizes.set(name, sizeBytes);
    this.#makeRoom();
  }

  #makeRoom(): void {
    for (const [name, size] of this.#sizes) {
      // There is too much for no longer than the write takes.
      if (this.#bytes <= this.#maxBytes || this.#underWay.has(name)) return;
      this.#bytes -= size;
      this.#sizes.delete(name);
      const file = path.join(this.#directory, name);
      void rm(file, { force: true }).catch(() => undefined);
      this.#onRemoved(file);
    }
  }
}
