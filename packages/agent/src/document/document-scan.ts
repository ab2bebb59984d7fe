import { heapWeights, isJsonObject, type JsonValue } from "@bunting/protocol";
import { isSameRow, type DocumentIndex } from "./document-index.js";
import { EntryTable, type TableEntry } from "./entry-table.js";
import { JsonScanner, ScanError } from "./json-scanner.js";
import { isSameSlice, parseSlice, type Slice } from "./slice.js";

export interface ScanOptions {
  /** Called with the heap, in bytes, of what has been read so far; flags that are equal to previous ones and were not read do not count. May throw to stop the scan. */
  readonly onWeight: (weight: number) => void;
  /** How deep objects and lists of one flag may be nested. */
  readonly maxDepth: number;
}

/**
 * One pass over a document, along the previous document if there is one to follow.
 *
 * Successive documents differ in a flag or two and their writers sort keys, so most of a document consists of bytes of the previous one,
 * shifted a little. The scan therefore keeps a cursor in the previous document and compares whole runs of flags natively; only where bytes
 * differ does it read flag by flag, until both are in step again. This works for documents of any shape: objects, lists and strings of
 * JSON delimit themselves, so equal bytes at the beginning of a flag mean an equal flag. Nor does the order matter: a flag at an
 * unexpected place is looked up by its key.
 *
 * If a scan that follows another document reports `index.hasDuplicates`, its rows must not be used: the last flag of a key wins, and only a
 * scan that follows nothing gets that right.
 */
export class DocumentScan {
  readonly previousRows: number[] = [];
  /** Rows of flags that are new, or differ from those of the previous document. */
  readonly changedRows: number[] = [];
  readonly #scanner: JsonScanner;
  readonly #previous: DocumentIndex | undefined;
  readonly #options: ScanOptions;
  readonly #entries: EntryTable;
  /** Rows of the previous document that this one has too. */
  readonly #met: Uint8Array;
  /** Rows by id, for flags that the previous document does not have. */
  readonly #newRows = new Map<string, number>();
  #previousById: ReadonlyMap<string, number> | undefined;
  /** The row of the previous document that is expected next. */
  #cursor = 0;
  /** How many rows the next comparison tries at once: twice as many as the last one found equal, and at least one. */
  #run = 64;
  #hasFlags = false;
  #list: Slice | undefined;
  #metadata: Slice | undefined;
  #evaluators: Slice | undefined;
  #setWeight = 0;
  #hasDuplicates = false;

  constructor(bytes: Buffer, previous: DocumentIndex | undefined, options: ScanOptions) {
    this.#scanner = new JsonScanner(bytes);
    this.#previous = previous;
    this.#options = options;
    this.#entries = new EntryTable(previous?.entries.size ?? 0);
    this.#met = new Uint8Array(previous?.entries.size ?? 0);
  }

  /** To be called once. */
  run(): DocumentIndex {
    this.#readDocument();
    if (!this.#hasFlags) throw new ScanError(`it has no "flags"${this.#manifestHint()}`, 0);
    if (this.#list !== undefined) this.#readList(this.#list);
    this.#entries.trim();
    return {
      bytes: this.#scanner.bytes,
      entries: this.#entries,
      isList: this.#list !== undefined,
      metadata: this.#metadata,
      evaluators: this.#evaluators,
      setWeight: this.#setWeight,
      hasDuplicates: this.#hasDuplicates,
    };
  }

  /** Users often give a file source a FeatureFlag manifest instead of a flag document. */
  #manifestHint(): string {
    if (!this.#scanner.bytes.includes('"flagSpec"')) return "";
    return " at its top level; of a FeatureFlag manifest, the agent takes what is below spec.flagSpec. bunting-proxy serves manifests (--source dir:DIRECTORY)";
  }

  #readDocument(): void {
    const scanner = this.#scanner;
    scanner.take("{", "at the beginning of a flag document");
    if (!scanner.tryTake("}")) {
      do {
        scanner.skipWhitespace();
        const key = scanner.takeKey();
        scanner.take(":", "after a key");
        scanner.skipWhitespace();
        if (key === "flags") this.#readFlags();
        else this.#readOther(key);
      } while (scanner.tryTake(","));
      scanner.take("}", "at the end of the document");
    }
    scanner.skipWhitespace();
    if (scanner.position < scanner.bytes.length) throw scanner.unexpected("expected the end of the document");
  }

  #readOther(key: string): void {
    if (key === "metadata") this.#metadata = this.#readPart(this.#previous?.metadata);
    else if (key === "$evaluators") this.#evaluators = this.#readPart(this.#previous?.evaluators);
    else parseSlice(this.#scanner.bytes, this.#readValue(0));
  }

  /** Reads the metadata or the evaluators. If they are the same as before, the store keeps their values, so they add nothing to the heap. */
  #readPart(before: Slice | undefined): Slice {
    const scanner = this.#scanner;
    const { weight: weightBefore, position: start } = scanner;
    scanner.skipValue();
    const slice = { start, end: scanner.position };
    this.#setWeight += scanner.weight - weightBefore;
    const bytes = this.#previous?.bytes ?? scanner.bytes;
    if (before !== undefined && isSameSlice(scanner.bytes, slice, bytes, before))
      scanner.weight = weightBefore;
    this.#options.onWeight(scanner.weight);
    return slice;
  }

  #readFlags(): void {
    const scanner = this.#scanner;
    if (this.#hasFlags) this.#forgetFlags();
    this.#hasFlags = true;
    if (scanner.tryTake("{")) {
      if (!scanner.tryTake("}")) this.#readEach("}", () => this.#readMember());
      return;
    }
    if (scanner.isAt("n")) {
      // As in flagd, null means that there are none. No other JSON begins with this letter.
      parseSlice(scanner.bytes, this.#readValue(0));
      return;
    }
    if (!scanner.isAt("[")) throw scanner.unexpected('"flags" must be an object or a list');
    // The flags of a list are read, and weighed, at the end: a part of their identity is the flagSetId, which metadata behind the list may set.
    const { position: start, weight } = scanner;
    scanner.skipValue();
    scanner.weight = weight;
    this.#list = { start, end: scanner.position };
  }

  /** `flags` occurred twice: as everywhere in JSON the later one counts, but the earlier one must be JSON too. */
  #forgetFlags(): void {
    this.#hasDuplicates = true;
    const { bytes } = this.#scanner;
    if (this.#list !== undefined) parseSlice(bytes, this.#list);
    for (let row = 0; row < this.#entries.size; row++) parseSlice(bytes, this.#entries.value(row));
    this.#list = undefined;
    this.#entries.clear();
    this.#newRows.clear();
  }

  #readList(list: Slice): void {
    const scanner = this.#scanner;
    const metadata = this.#metadata && parseSlice(scanner.bytes, this.#metadata);
    const setFlagSetId = flagSetIdIn(metadata, "");
    scanner.position = list.start + 1;
    if (!scanner.tryTake("]")) this.#readEach("]", () => this.#readItem(setFlagSetId));
  }

  #readEach(close: string, readOne: () => void): void {
    const scanner = this.#scanner;
    do {
      scanner.skipWhitespace();
      if (!this.#followRun()) readOne();
    } while (scanner.tryTake(","));
    scanner.take(close, "after the last flag");
  }

  /** Skips as many flags as are equal, byte by byte, to those at the cursor of the previous document. */
  #followRun(): boolean {
    const scanner = this.#scanner;
    const previous = this.#previous;
    if (previous === undefined || !this.#canFollow(previous)) return false;
    const { entries } = previous;
    const at = scanner.position;
    const from = entries.start(this.#cursor);
    let count = Math.min(this.#run, entries.size - this.#cursor);
    for (; count > 0; count >>= 2) {
      const to = entries.end(this.#cursor + count - 1);
      const until = at + to - from;
      if (until > scanner.bytes.length || !delimitsItself(previous.bytes[to - 1])) continue;
      if (previous.bytes.compare(scanner.bytes, at, until, from, to) === 0) break;
    }
    this.#run = Math.max(1, count * 2);
    if (count === 0) return false;
    this.#entries.pushMoved(entries, this.#cursor, count, at - from);
    scanner.position = this.#entries.end(this.#entries.size - 1);
    for (const last = this.#cursor + count; this.#cursor < last; this.#cursor++) this.#meet(this.#cursor);
    return true;
  }

  /** In a list, equal bytes are an equal flag only if the set's metadata is the same too: it may set the flagSetId. */
  #canFollow(previous: DocumentIndex): boolean {
    if (this.#cursor >= previous.entries.size || previous.isList !== (this.#list !== undefined)) return false;
    return (
      !previous.isList || isSameSlice(this.#scanner.bytes, this.#metadata, previous.bytes, previous.metadata)
    );
  }

  #readMember(): void {
    const scanner = this.#scanner;
    const start = scanner.position;
    const id = scanner.takeKey();
    scanner.take(":", `after the key ${JSON.stringify(id)}`);
    scanner.skipWhitespace();
    this.#add(id, this.#readEntry(start));
  }

  #readItem(setFlagSetId: string): void {
    const scanner = this.#scanner;
    const start = scanner.position;
    const entry = this.#readEntry(start);
    const id = listItemId(parseSlice(scanner.bytes, { start, end: entry.end }), setFlagSetId);
    if (id === undefined) {
      // An item without a key may be a flag of the previous document, which must not be removed: the document is refused.
      scanner.position = start;
      throw scanner.unexpected('expected a flag with a "key" in the list');
    }
    this.#add(id, entry);
  }

  #readEntry(start: number): TableEntry {
    const scanner = this.#scanner;
    const weightBefore = scanner.weight;
    const value = this.#readValue(heapWeights.serving.flag);
    return {
      start,
      valueStart: value.start,
      end: value.end,
      weight: scanner.weight - weightBefore,
      isTooDeep: scanner.depth > this.#options.maxDepth,
      mentionsReference: scanner.mentionsReference,
    };
  }

  #add(id: string, entry: TableEntry): void {
    const duplicate = this.#newRows.get(id);
    if (duplicate !== undefined) {
      this.#hasDuplicates = true;
      parseSlice(this.#scanner.bytes, this.#entries.value(duplicate));
      this.#entries.overwrite(duplicate, entry);
      return;
    }
    const row = this.#entries.push(id, entry);
    const previousRow = this.#findPrevious(id);
    if (previousRow < 0) this.#newRows.set(id, row);
    const document = { bytes: this.#scanner.bytes, entries: this.#entries };
    if (!isSameRow(document, row, this.#previous, previousRow)) this.changedRows.push(row);
    if (previousRow >= 0) this.#cursor = previousRow + 1;
    this.#meet(previousRow);
  }

  #findPrevious(id: string): number {
    const entries = this.#previous?.entries;
    if (entries === undefined) return -1;
    if (entries.ids[this.#cursor] === id) return this.#cursor;
    this.#previousById ??= entries.rowsById();
    return this.#previousById.get(id) ?? -1;
  }

  /** Records which flag of the previous document the row just added is. */
  #meet(previousRow: number): void {
    this.previousRows.push(previousRow);
    if (previousRow < 0) return;
    if (this.#met[previousRow] === 1) this.#hasDuplicates = true;
    this.#met[previousRow] = 1;
  }

  #readValue(extraWeight: number): Slice {
    const scanner = this.#scanner;
    const start = scanner.position;
    scanner.weight += extraWeight;
    scanner.skipValue();
    this.#options.onWeight(scanner.weight);
    return { start, end: scanner.position };
  }
}

/** The identity of a flag of a list; undefined if it has no key. */
function listItemId(item: JsonValue, setFlagSetId: string): string | undefined {
  const key = isJsonObject(item) ? item["key"] : undefined;
  if (!isJsonObject(item) || typeof key !== "string") return undefined;
  return `${flagSetIdIn(item["metadata"], setFlagSetId)}\0${key}`;
}

/** A flagSetId that is not a string is ignored, as in parseFlag. */
function flagSetIdIn(metadata: JsonValue | undefined, otherwise: string): string {
  if (!isJsonObject(metadata) || !Object.hasOwn(metadata, "flagSetId")) return otherwise;
  return typeof metadata["flagSetId"] === "string" ? metadata["flagSetId"] : "";
}

/** True if the value ends with this byte. A number or a word may go on after equal bytes, so they do not prove that the value is equal. */
function delimitsItself(lastByte: number | undefined): boolean {
  return lastByte === 0x7d || lastByte === 0x5d || lastByte === 0x22;
}
