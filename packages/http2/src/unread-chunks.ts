import type { PeerAccount } from "./account.js";

/** Bytes that were read from a socket for a later turn: the rest of 64 KB, or of what TLS decrypted together. */
export class UnreadChunks {
  readonly #account: PeerAccount;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(account: PeerAccount) {
    this.#account = account;
  }

  add(chunk: Buffer): void {
    const bytes = chunk.buffer.byteLength;
    this.#chunks.push(chunk);
    this.#bytes += bytes;
    this.#account.charge(bytes);
  }

  /** All of it, in order. */
  take(): readonly Buffer[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    if (this.#bytes > 0) this.#account.release(this.#bytes);
    this.#bytes = 0;
    return chunks;
  }
}
