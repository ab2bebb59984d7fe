import { isSameRow, type DocumentIndex } from "./document-index.js";
import { DocumentScan, type ScanOptions } from "./document-scan.js";

/** How the flags of a document relate to those of the previous one. */
export interface RowMatch {
  /** For each row, the row of the same flag in the previous document, or -1. */
  readonly previousRows: readonly number[];
  /** Rows whose text is new or changed. */
  readonly changedRows: readonly number[];
}

export type IndexedDocument = RowMatch & { readonly index: DocumentIndex };

/**
 * Finds the flags of a document, and which of them changed. Changed flags are neither parsed nor checked yet.
 *
 * @throws ScanError if the bytes do not have the structure of a flag document
 */
export function indexDocument(
  bytes: Buffer,
  previous: DocumentIndex | undefined,
  options: ScanOptions,
): IndexedDocument {
  if (previous !== undefined && !previous.hasDuplicates) {
    const scan = new DocumentScan(bytes, previous, options);
    const index = scan.run();
    if (!index.hasDuplicates)
      return { index, previousRows: scan.previousRows, changedRows: scan.changedRows };
  }
  // Without a document to follow, every flag is read, and of those with the same key the last one is kept.
  const index = new DocumentScan(bytes, undefined, options).run();
  return { index, ...matchRows(index, previous) };
}

/** Finds each flag by its id among those of the previous document. */
function matchRows(index: DocumentIndex, previous: DocumentIndex | undefined): RowMatch {
  const { ids } = index.entries;
  const known = previous?.entries.rowsById();
  const previousRows = ids.map((id) => known?.get(id) ?? -1);
  const isChanged = (row: number): boolean => !isSameRow(index, row, previous, previousRows[row] ?? -1);
  return { previousRows, changedRows: [...ids.keys()].filter(isChanged) };
}
