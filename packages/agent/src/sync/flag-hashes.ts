import { createHash, hash } from "node:crypto";
import { compareUtf8 } from "@bunting/protocol";
import type { DocumentLayout } from "./held-document.js";

export const hashBytes = 32;

/**
 * The SHA-256 of each flag of a document, row by row, in one buffer: 32 bytes a flag, so that an edit hashes one flag and not the document.
 * Undefined for a document that can't be the one that any digest stands for: flags in a list, twice, or out of order.
 */
export function hashFlags({ bytes, entries, isList, hasDuplicates }: DocumentLayout): Buffer | undefined {
  const { ids } = entries;
  if (isList || hasDuplicates) return undefined;
  const hashes = Buffer.allocUnsafeSlow(ids.length * hashBytes);
  for (const [row, id] of ids.entries()) {
    if (row > 0 && compareUtf8(ids[row - 1] ?? "", id) >= 0) return undefined;
    const { start, end } = entries.value(row);
    hashes.set(hash("sha256", bytes.subarray(start, end), "buffer"), row * hashBytes);
  }
  return hashes;
}

/** The digest of a document; see docs/bunting-sync-v1.md. */
export function digestDocument(document: {
  readonly ids: readonly string[];
  /** By the row of `ids`. */
  readonly hashes: Buffer;
  /** Canonical JSON; undefined where there is none. */
  readonly metadata: Buffer | undefined;
  readonly evaluators: Buffer | undefined;
}): Buffer {
  const { ids, hashes, metadata, evaluators } = document;
  const digest = createHash("sha256");
  // Collected in blocks, because a call into OpenSSL costs more than the few bytes of a flag.
  const block = Buffer.allocUnsafe(blockBytes);
  let used = 0;
  for (const [row, id] of ids.entries()) {
    const keyBytes = Buffer.byteLength(id);
    const flagBytes = lengthBytes + keyBytes + hashBytes;
    if (used + flagBytes > blockBytes) {
      digest.update(block.subarray(0, used));
      used = 0;
    }
    // A key that is longer than a block goes its own way.
    const out = flagBytes > blockBytes ? Buffer.allocUnsafe(flagBytes) : block;
    used = out.writeUInt32BE(keyBytes, used);
    used += out.write(id, used);
    used += hashes.copy(out, used, row * hashBytes, (row + 1) * hashBytes);
    if (out === block) continue;
    digest.update(out);
    used = 0;
  }
  digest.update(block.subarray(0, used));
  for (const part of [metadata, evaluators]) digest.update(hash("sha256", part ?? "", "buffer"));
  return digest.digest();
}

const lengthBytes = 4;
const blockBytes = 8 * 1024;
