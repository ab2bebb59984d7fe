import type { EntryTable } from "./entry-table.js";
import { isSameSlice, type Slice } from "./slice.js";

/** A flag document as bytes, and where its parts are in them. */
export interface DocumentIndex {
  readonly bytes: Buffer;
  /** One row a flag. */
  readonly entries: EntryTable;
  /** `flags` is a list of flags that carry their key. */
  readonly isList: boolean;
  readonly metadata: Slice | undefined;
  readonly evaluators: Slice | undefined;
  /** The heap that the metadata and the evaluators take, in bytes, as JsonScanner counts it. */
  readonly setWeight: number;
  /** A key occurred twice and the later flag won: the rows are then not in the order of the bytes. */
  readonly hasDuplicates: boolean;
}

/** True if both documents have the flag, and its definition has equal bytes. */
export function isSameRow(
  { bytes, entries }: Pick<DocumentIndex, "bytes" | "entries">,
  row: number,
  previous: DocumentIndex | undefined,
  previousRow: number,
): boolean {
  if (previous === undefined || previousRow < 0) return false;
  return isSameSlice(bytes, entries.value(row), previous.bytes, previous.entries.value(previousRow));
}
