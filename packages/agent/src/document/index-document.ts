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
  const { entries } = index;
  if (previous === undefined)
    return { previousRows: entries.ids.map(() => -1), changedRows: entries.ids.map((_, row) => row) };
  const rows = previous.entries.rowsById();
  const previousRows = entries.ids.map((id) => rows.get(id) ?? -1);
  const changedRows: number[] = [];
  previousRows.forEach((previousRow, row) => {
    if (!isSameRow(index, row, previous, previousRow)) changedRows.push(row);
  });
  return { previousRows, changedRows };
}
