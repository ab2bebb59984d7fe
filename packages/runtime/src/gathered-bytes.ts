const nothing = Buffer.alloc(0);
/** A chunk that is smaller is copied together with others. */
const largeBytes = 4 * 1024;
const maxBlockBytes = 16 * 1024;
const minBlockBytes = 512;

/**
 * Gathers the chunks of a body. Small chunks are copied into blocks, because the sender chooses their size: a Buffer of one byte takes some
 * 200 bytes, and it may be a view of everything that was read from the socket with it, which it would keep.
 */
export class GatheredBytes {
  #parts: Buffer[] = [];
  /** The block that is being filled. */
  #block: Buffer = nothing;
  #blockBytes = 0;
  #length = 0;
  #allocatedBytes = 0;

  /** Bytes that were pushed. */
  get length(): number {
    return this.#length;
  }

  /** Bytes that are allocated for what was pushed: up to twice as many for small bodies. */
  get allocatedBytes(): number {
    return this.#allocatedBytes;
  }

  /** The chunk must not be modified afterwards. */
  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#blockBytes === this.#block.length) {
        this.#endBlock();
        if (this.#isKept(rest)) {
          this.#parts.push(rest);
          this.#length += rest.length;
          this.#allocatedBytes += rest.buffer.byteLength;
          return;
        }
        const bytes = Math.max(rest.length, this.#length, minBlockBytes);
        this.#block = Buffer.allocUnsafeSlow(Math.min(bytes, maxBlockBytes));
        this.#allocatedBytes += this.#block.length;
      }
      const copied = rest.copy(this.#block, this.#blockBytes);
      this.#blockBytes += copied;
      this.#length += copied;
      rest = rest.subarray(copied);
    }
  }

  /** Returns everything that was pushed, and is empty afterwards. */
  take(): Buffer {
    this.#endBlock();
    const [first] = this.#parts;
    const all = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    this.clear();
    return all;
  }

  clear(): void {
    this.#parts = [];
    this.#block = nothing;
    this.#blockBytes = 0;
    this.#length = 0;
    this.#allocatedBytes = 0;
  }

  /** Without copying: large chunks, and the first one, which is usually all. Not what keeps far more memory than it has bytes. */
  #isKept(chunk: Buffer): boolean {
    const { byteLength } = chunk.buffer;
    if (this.#length === 0 && byteLength <= largeBytes) return true;
    return chunk.length >= largeBytes && byteLength <= 2 * chunk.length;
  }

  #endBlock(): void {
    if (this.#blockBytes > 0) this.#parts.push(this.#block.subarray(0, this.#blockBytes));
    this.#block = nothing;
    this.#blockBytes = 0;
  }
}
