import { hash } from "node:crypto";
import { compareUtf8, digestBytes, DocumentDigest } from "@bunting/protocol";
import type { DocumentIndex } from "../document/document-index.js";

/**
 * The SHA-256 of each flag of a document, row by row, in one buffer: 32 bytes per flag, so that an edit hashes one flag and not the document.
 * Undefined if the document has no digest: its flags are in a list, duplicate, or not sorted by key.
 */
export function hashFlags({ bytes, entries, isList, hasDuplicates }: DocumentIndex): Buffer | undefined {
  const { ids } = entries;
  if (isList || hasDuplicates) return undefined;
  const hashes = Buffer.allocUnsafeSlow(ids.length * digestBytes);
  for (const [row, id] of ids.entries()) {
    if (row > 0 && compareUtf8(ids[row - 1] ?? "", id) >= 0) return undefined;
    const { start, end } = entries.value(row);
    hashes.set(hash("sha256", bytes.subarray(start, end), "buffer"), row * digestBytes);
  }
  return hashes;
}

/** The digest of a document; see docs/bunting-sync-v1.md. */
export function digestDocument(document: {
  readonly ids: readonly string[];
  /** One per row of `ids`; see hashFlags. */
  readonly hashes: Buffer;
  /** Canonical JSON; undefined if absent. */
  readonly metadata: Buffer | undefined;
  readonly evaluators: Buffer | undefined;
}): Buffer {
  const { ids, hashes, metadata, evaluators } = document;
  const digest = new DocumentDigest();
  for (const [row, id] of ids.entries()) digest.add(id, hashes, row * digestBytes);
  return digest.finish(metadata, evaluators);
}
