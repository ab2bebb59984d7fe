/** Fewer keys than this are not worth a look. */
const minKeys = 1_000;

/**
 * Says when a map of objects is to be looked through for those that are gone: whoever creates and deletes objects under ever new names would fill it
 * otherwise. A key costs two looks at most.
 */
export class SweepSize {
  #limit = minKeys;

  /** True if the map has grown so much that it should be swept. */
  isOver(size: number): boolean {
    return size >= this.#limit;
  }

  /** To be called with the size that is left. */
  swept(size: number): void {
    this.#limit = Math.max(minKeys, 2 * size);
  }
}
