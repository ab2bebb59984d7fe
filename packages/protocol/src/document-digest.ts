import { createHash, hash } from "node:crypto";

/** Bytes of a digest, and of a flag's hash. */
export const digestBytes = 32;

/**
 * Computes the digest by which both ends of bunting.sync.v1 know that they hold the same document: SHA-256 over, for each flag in UTF-8
 * order of the keys, the length of the key in bytes (4 bytes, big-endian), the key, and the SHA-256 of the flag's canonical JSON; then
 * the SHA-256 of the canonical JSON of `metadata`, and that of `$evaluators`, where an absent part counts as no bytes.
 *
 * Flags are added one by one and not kept, so that neither end has to copy its flags for it. test/fixtures/document-digests.json holds
 * the expected digests.
 */
export class DocumentDigest {
  readonly #digest = createHash("sha256");
  /** Bytes are collected in blocks, because a call into OpenSSL costs more than hashing the few bytes of a flag. */
  readonly #block = Buffer.allocUnsafe(blockBytes);
  #used = 0;

  /**
   * Adds the next flag; the caller is responsible for the order.
   *
   * @param flagHash SHA-256 of the flag's canonical JSON: in hex, or as the 32 bytes from `start` on.
   */
  add(key: string, flagHash: string | Uint8Array, start = 0): this {
    const keyBytes = Buffer.byteLength(key);
    const bytes = lengthBytes + keyBytes + digestBytes;
    if (this.#used + bytes > blockBytes) this.#flush();
    // A key that is longer than a block is hashed separately.
    const isOversized = bytes > blockBytes;
    const out = isOversized ? Buffer.allocUnsafe(bytes) : this.#block;
    let at = out.writeUInt32BE(keyBytes, isOversized ? 0 : this.#used);
    at += out.write(key, at);
    if (typeof flagHash === "string") at += out.write(flagHash, at, "hex");
    else {
      out.set(flagHash.subarray(start, start + digestBytes), at);
      at += digestBytes;
    }
    if (isOversized) this.#digest.update(out);
    else this.#used = at;
    return this;
  }

  /** The digest, after all flags were added. The other parts are canonical JSON; undefined or empty if absent. */
  finish(metadata: string | Uint8Array | undefined, evaluators: string | Uint8Array | undefined): Buffer {
    this.#flush();
    for (const part of [metadata, evaluators]) this.#digest.update(hash("sha256", part ?? "", "buffer"));
    return this.#digest.digest();
  }

  #flush(): void {
    this.#digest.update(this.#block.subarray(0, this.#used));
    this.#used = 0;
  }
}

const lengthBytes = 4;
const blockBytes = 8 * 1024;
