import { createHash, hash } from "node:crypto";

/** Bytes of a digest, and of a flag's hash. */
export const digestBytes = 32;

/**
 * Computes the digest by which both ends of bunting.sync.v1 know that they mean the same document: SHA-256 over, for each flag in UTF-8
 * order of the keys, the length of the key in bytes (4 bytes, big end first), the key, and the SHA-256 of the flag's canonical JSON; then
 * the SHA-256 of the canonical JSON of `metadata`, and that of `$evaluators`, where what is absent counts as no bytes.
 *
 * It is fed flag by flag and keeps none, so that neither end needs the flags in a form of its own for it. test/fixtures/document-digests.json
 * has what must come out.
 */
export class DocumentDigest {
  readonly #digest = createHash("sha256");
  /** Collected in blocks, because a call into OpenSSL costs more than the few bytes of a flag. */
  readonly #block = Buffer.allocUnsafe(blockBytes);
  #used = 0;

  /**
   * Adds the next flag; the order is the caller's duty.
   *
   * @param flagHash SHA-256 of the flag's canonical JSON: in hex, or as the 32 bytes from `start` on.
   */
  add(key: string, flagHash: string | Uint8Array, start = 0): this {
    const keyBytes = Buffer.byteLength(key);
    const bytes = lengthBytes + keyBytes + digestBytes;
    if (this.#used + bytes > blockBytes) this.#flush();
    // A key that is longer than a block goes its own way.
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

  /** The digest, once all flags were added. The parts besides flags are canonical JSON; undefined or empty where there is none. */
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
