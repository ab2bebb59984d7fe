import type { TrackedFile } from "./tracked-file.js";

/** A larger file waits for the smaller ones. */
const largeBytes = 32 * 1024;

/** The files that something is still to be done about: some wait until they have not changed for a while, others can be handled. */
export class PendingFiles {
  /** Files that have changed, or are missing, until they have been so for a while. */
  readonly #resting = new Set<TrackedFile>();
  /** Files of which an event is to be made. */
  readonly #ready = new Set<TrackedFile>();
  /** The ready files, the first last; undefined if there are others by now, or another order. */
  #order: TrackedFile[] | undefined;
  #areSmallFirst = false;

  get resting(): Iterable<TrackedFile> {
    return this.#resting;
  }

  /** When the first resting file has rested, in ms of the monotonic clock; Infinity without any. */
  get restedMs(): number {
    let firstMs = Infinity;
    for (const { restedMs = Infinity } of this.#resting) firstMs = Math.min(firstMs, restedMs);
    return firstMs;
  }

  /** Puts a file into the set of its state. */
  sort(file: TrackedFile): void {
    if (file.restedMs === undefined) this.#resting.delete(file);
    else this.#resting.add(file);
    if (!file.isReady) this.#ready.delete(file);
    else if (!this.#ready.has(file)) {
      this.#ready.add(file);
      this.#order = undefined;
    }
  }

  /**
   * From now on the small files come first, so that an edit does not wait behind a heap of large ones. Until then they come
   * by path, so that every start ends the same.
   */
  putSmallFirst(): void {
    this.#areSmallFirst = true;
    this.#order = undefined;
  }

  /** The first ready file. What is gone comes last, and not while it may only have moved. */
  first(): TrackedFile | undefined {
    this.#order ??= [...this.#ready].sort((a, b) => (this.#rank(a) < this.#rank(b) ? 1 : -1));
    for (let file = this.#order.at(-1); file !== undefined; file = this.#order.at(-1)) {
      if (this.#ready.has(file)) return file.isGone && this.#mayHaveMoved(file) ? undefined : file;
      this.#order.pop();
    }
    this.#order = undefined;
    return undefined;
  }

  #rank(file: TrackedFile): string {
    const isLater = this.#areSmallFirst && file.size > largeBytes;
    return `${file.isGone ? 1 : 0}${isLater ? 1 : 0}${file.path}`;
  }

  #mayHaveMoved(gone: TrackedFile): boolean {
    return [...this.#resting].some((file) => gone.mayHaveMovedTo(file));
  }
}
