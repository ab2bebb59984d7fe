import type { Delta, DeltaFlag } from "@bunting/sync-client/messages";
import { hash } from "node:crypto";
import { compareUtf8, digestBytes } from "@bunting/protocol";
import type { DocumentIndex } from "../document/document-index.js";
import { digestDocument } from "./flag-hashes.js";

/** The result of applying a delta. */
export interface MergedDocument {
  /** Canonical JSON, if the previous document was. */
  readonly bytes: Buffer;
  /** As hashFlags returns them. */
  readonly hashes: Buffer;
  readonly digest: Buffer;
}

/** A piece of the merged document: consecutive rows of the previous document, or one flag of the delta. */
type Piece =
  { readonly firstRow: number; readonly endRow: number } | { readonly key: string; readonly flag: Buffer };

/**
 * Applies a delta: runs of flags are copied as bytes from the previous document, with the flags of the delta between them. Nothing is parsed;
 * the digest shows whether the result is right.
 *
 * @param hashes the result of hashFlags for the previous document
 */
export function mergeDelta(before: DocumentIndex, hashes: Buffer, delta: Delta): MergedDocument {
  const pieces = planMerge(before.entries.ids, delta.flags);
  const metadata = partAfter(before, before.metadata, delta.metadata);
  const evaluators = partAfter(before, before.evaluators, delta.evaluators);
  const ids = idsOf(pieces, before.entries.ids);
  const mergedHashes = hashesOf(pieces, hashes, ids.length);
  return {
    bytes: bytesOf(pieces, before, metadata, evaluators),
    hashes: mergedHashes,
    digest: digestDocument({ ids, hashes: mergedHashes, metadata, evaluators }),
  };
}

/** Both lists are sorted by key; if the delta's is not, the digest will be wrong. */
function planMerge(ids: readonly string[], changes: readonly DeltaFlag[]): Piece[] {
  const pieces: Piece[] = [];
  let firstRow = 0;
  for (const { key, flag } of changes) {
    const endRow = rowOf(ids, key, firstRow);
    if (endRow > firstRow) pieces.push({ firstRow, endRow });
    firstRow = ids[endRow] === key ? endRow + 1 : endRow;
    if (flag.length > 0) pieces.push({ key, flag });
  }
  if (ids.length > firstRow) pieces.push({ firstRow, endRow: ids.length });
  return pieces;
}

/** The row of a key, or the row before which it belongs. */
function rowOf(ids: readonly string[], key: string, from: number): number {
  let low = from;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareUtf8(ids[middle] ?? "", key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** `metadata` or `$evaluators` after a delta: undefined means unchanged, empty means removed. */
function partAfter(
  { bytes }: DocumentIndex,
  before: DocumentIndex["metadata"],
  changed: Buffer | undefined,
): Buffer | undefined {
  if (changed !== undefined) return changed.length > 0 ? changed : undefined;
  return before && bytes.subarray(before.start, before.end);
}

function idsOf(pieces: readonly Piece[], before: readonly string[]): string[] {
  return pieces.flatMap((piece) =>
    "key" in piece ? [piece.key] : before.slice(piece.firstRow, piece.endRow),
  );
}

function hashesOf(pieces: readonly Piece[], before: Buffer, count: number): Buffer {
  // Not from Node's pool: a small buffer from it would keep a whole slab alive.
  const hashes = Buffer.allocUnsafeSlow(count * digestBytes);
  let at = 0;
  for (const piece of pieces) {
    if ("key" in piece) {
      hashes.set(hash("sha256", piece.flag, "buffer"), at);
      at += digestBytes;
    } else at += before.copy(hashes, at, piece.firstRow * digestBytes, piece.endRow * digestBytes);
  }
  return hashes;
}

function bytesOf(
  pieces: readonly Piece[],
  { bytes, entries }: DocumentIndex,
  metadata: Buffer | undefined,
  evaluators: Buffer | undefined,
): Buffer {
  const parts: Buffer[] = [Buffer.from('{"flags":{')];
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) parts.push(comma);
    if ("key" in piece) parts.push(Buffer.from(`${JSON.stringify(piece.key)}:`), piece.flag);
    else parts.push(bytes.subarray(entries.start(piece.firstRow), entries.end(piece.endRow - 1)));
  }
  parts.push(Buffer.from("}"));
  if (metadata !== undefined) parts.push(Buffer.from(',"metadata":'), metadata);
  if (evaluators !== undefined) parts.push(Buffer.from(',"$evaluators":'), evaluators);
  parts.push(Buffer.from("}"));
  return Buffer.concat(parts);
}

const comma = Buffer.from(",");
