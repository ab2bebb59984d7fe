import type { Slice } from "./slice.js";

/** Columns of one row. */
const start = 0;
const valueStart = 1;
const end = 2;
const weight = 3;
const marks = 4;
const added = 5;
const columns = 6;

const tooDeepMark = 1;
const referenceMark = 2;

/** Where one flag is in its document. */
export interface TableEntry {
  /** Offset of its first byte: in a map that of the key, in a list that of the flag. */
  readonly start: number;
  /** Offset of the flag's definition. */
  readonly valueStart: number;
  readonly end: number;
  /** The heap that the flag takes, in bytes, as JsonScanner counts it. */
  readonly weight: number;
  /** Objects and lists are nested too deep for recursive code. */
  readonly isTooDeep: boolean;
  /** Its text contains `$ref`, so the flag may change when `$evaluators` do. */
  readonly mentionsReference: boolean;
}

/**
 * Where each flag of a document is, one row per flag. The numbers are in one typed array, because 10,000 rows as objects would cost the
 * agent more heap than the index is worth, and because a row that only moved is copied in a few instructions.
 */
export class EntryTable {
  readonly ids: string[] = [];
  #cells: Uint32Array;

  constructor(capacity: number) {
    this.#cells = new Uint32Array(Math.max(16, capacity) * columns);
  }

  get size(): number {
    return this.ids.length;
  }

  push(id: string, entry: TableEntry): number {
    const row = this.ids.length;
    this.#makeRoom(row + 1);
    this.ids.push(id);
    this.overwrite(row, entry);
    return row;
  }

  overwrite(row: number, entry: TableEntry): void {
    const marked = (entry.isTooDeep ? tooDeepMark : 0) | (entry.mentionsReference ? referenceMark : 0);
    this.#cells.set([entry.start, entry.valueStart, entry.end, entry.weight, marked, 0], row * columns);
  }

  /** Takes over rows of another table whose bytes lie `shift` further on in this one's document. */
  pushMoved(other: EntryTable, first: number, count: number, shift: number): void {
    const row = this.ids.length;
    this.#makeRoom(row + count);
    const cells = this.#cells;
    cells.set(other.#cells.subarray(first * columns, (first + count) * columns), row * columns);
    for (let i = 0; i < count; i++) {
      const at = (row + i) * columns;
      cells[at + start] = (cells[at + start] ?? 0) + shift;
      cells[at + valueStart] = (cells[at + valueStart] ?? 0) + shift;
      cells[at + end] = (cells[at + end] ?? 0) + shift;
      this.ids.push(other.ids[first + i] ?? "");
    }
  }

  start(row: number): number {
    return this.#cell(row, start);
  }

  end(row: number): number {
    return this.#cell(row, end);
  }

  /** The flag's definition. */
  value(row: number): Slice {
    return { start: this.#cell(row, valueStart), end: this.#cell(row, end) };
  }

  weight(row: number): number {
    return this.#cell(row, weight);
  }

  /** The heap that the flag takes beside the weight of its text, in bytes: for what it refers to, the set's metadata, its compiled rule. 0 until it is set. */
  addedWeight(row: number): number {
    return this.#cell(row, added);
  }

  setAddedWeight(row: number, bytes: number): void {
    this.#cells[row * columns + added] = bytes;
  }

  isTooDeep(row: number): boolean {
    return (this.#cell(row, marks) & tooDeepMark) !== 0;
  }

  mentionsReference(row: number): boolean {
    return (this.#cell(row, marks) & referenceMark) !== 0;
  }

  rowsById(): ReadonlyMap<string, number> {
    return new Map(this.ids.map((id, row) => [id, row]));
  }

  /** The heap that all rows take together, in bytes. */
  totalWeight(): number {
    let sum = 0;
    for (let row = 0; row < this.ids.length; row++) sum += this.#cell(row, weight) + this.#cell(row, added);
    return sum;
  }

  clear(): void {
    this.ids.length = 0;
  }

  /** Releases unused capacity. */
  trim(): void {
    if (this.#cells.length > this.size * columns * 1.25)
      this.#cells = this.#cells.slice(0, this.size * columns);
  }

  #cell(row: number, column: number): number {
    return this.#cells[row * columns + column] ?? 0;
  }

  #makeRoom(rows: number): void {
    if (rows * columns <= this.#cells.length) return;
    const grown = new Uint32Array(Math.max(rows, this.#cells.length / columns) * 2 * columns);
    grown.set(this.#cells);
    this.#cells = grown;
  }
}
