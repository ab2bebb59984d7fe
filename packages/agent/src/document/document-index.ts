import type { EntryTable } from "./entry-table.js";
import type { Slice } from "./slice.js";

/** A flag document as bytes, and where its parts lie in them. */
export interface DocumentIndex {
  readonly bytes: Buffer;
  /** One row a flag. */
  readonly entries: EntryTable;
  /** `flags` is a list of flags that carry their key. */
  readonly isList: boolean;
  readonly metadata: Slice | undefined;
  readonly evaluators: Slice | undefined;
  /** A key came twice and the later flag won: rows are then not in the order of the bytes. */
  readonly hasDuplicates: boolean;
}
