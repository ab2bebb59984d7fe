import { decodeHuffman } from "./huffman.js";
import { staticEntries, staticTable } from "./static-table.js";

/** What a header field counts beyond its name and value: in the table (RFC 7541 4.1) and in a header list (RFC 9113 6.5.2) alike. */
const fieldOverheadBytes = 32;
/** Table size of our peers' encoders: the default of SETTINGS_HEADER_TABLE_SIZE. */
const maxTableBytes = 4_096;
/** Far beyond any length that fits into a header block. */
const maxInteger = 2 ** 28;

/** A header list, as far as it was kept. */
export interface HeaderList {
  /** Names and values in turn. */
  readonly fields: string[];
  /** As SETTINGS_MAX_HEADER_LIST_SIZE counts, of all fields. */
  readonly bytes: number;
}

/** Decodes the header blocks of one connection (RFC 7541), which have a table of earlier fields in common. */
export class HeaderDecoder {
  /** Names and values in turn, the oldest first. */
  #table: string[] = [];
  /** Strings at the start of the table that have been evicted; they are cut off now and then. */
  #evicted = 0;
  #tableBytes = 0;
  #tableLimit = maxTableBytes;
  #tableVersion = 0;
  // While a block is being decoded.
  #bytes: Buffer = nothing;
  #at = 0;
  #end = 0;

  /** Changes whenever the table does: the same bytes mean the same as long as it is the same. */
  get tableVersion(): number {
    return this.#tableVersion;
  }

  /** A decoder with the same table. */
  fork(): HeaderDecoder {
    const forked = new HeaderDecoder();
    forked.#table = this.#table.slice(this.#evicted);
    forked.#tableBytes = this.#tableBytes;
    forked.#tableLimit = this.#tableLimit;
    forked.#tableVersion = this.#tableVersion;
    return forked;
  }

  /**
   * Decodes the block between two offsets; undefined if it is invalid, whereupon nothing may be decoded any more. Fields that would make what
   * is kept larger than `maxBytes` are counted, and not kept.
   */
  decode(bytes: Buffer, start: number, end: number, maxBytes: number): HeaderList | undefined {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    const list = this.#readFields(maxBytes);
    this.#bytes = nothing;
    return list;
  }

  #readFields(maxBytes: number): HeaderList | undefined {
    const fields: string[] = [];
    let keptBytes = 0;
    let listBytes = 0;
    let isFirst = true;
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at] ?? 0;
      let name: string | undefined;
      let value: string | undefined;
      if (byte >= 0x80) {
        const index = this.#readInteger(0x7f);
        name = this.#text(index, 0);
        value = this.#text(index, 1);
      } else if (byte >= 0x20 && byte < 0x40) {
        if (!isFirst || !this.#resize(this.#readInteger(0x1f))) return undefined;
        continue;
      } else {
        const index = this.#readInteger(byte >= 0x40 ? 0x3f : 0x0f);
        name = index === 0 ? this.#readString() : this.#text(index, 0);
        value = name === undefined ? undefined : this.#readString();
        if (name !== undefined && value !== undefined && byte >= 0x40) this.#insert(name, value);
      }
      if (name === undefined || value === undefined) return undefined;
      isFirst = false;
      const bytes = name.length + value.length + fieldOverheadBytes;
      listBytes += bytes;
      if (keptBytes + bytes > maxBytes) continue;
      keptBytes += bytes;
      fields.push(name, value);
    }
    return { fields, bytes: listBytes };
  }

  /** The name (0) or the value (1) at an index of both tables. */
  #text(index: number, part: 0 | 1): string | undefined {
    if (index <= 0) return undefined;
    if (index <= staticEntries) return staticTable[(index - 1) * 2 + part];
    const at = this.#table.length - (index - staticEntries) * 2;
    return at < this.#evicted ? undefined : this.#table[at + part];
  }

  #insert(name: string, value: string): void {
    this.#tableVersion++;
    const bytes = name.length + value.length + fieldOverheadBytes;
    this.#evictTo(this.#tableLimit - bytes);
    if (bytes > this.#tableLimit) return;
    this.#table.push(name, value);
    this.#tableBytes += bytes;
  }

  #resize(bytes: number): boolean {
    if (bytes < 0 || bytes > maxTableBytes) return false;
    this.#tableVersion++;
    this.#tableLimit = bytes;
    this.#evictTo(bytes);
    return true;
  }

  #evictTo(bytes: number): void {
    const table = this.#table;
    while (this.#tableBytes > bytes && this.#evicted < table.length) {
      this.#tableBytes -=
        (table[this.#evicted]?.length ?? 0) + (table[this.#evicted + 1]?.length ?? 0) + fieldOverheadBytes;
      // Or what was evicted would be held on.
      table[this.#evicted] = "";
      table[this.#evicted + 1] = "";
      this.#evicted += 2;
    }
    if (this.#evicted <= 64 && this.#evicted < table.length) return;
    this.#table = table.slice(this.#evicted);
    this.#evicted = 0;
  }

  /** An integer (RFC 7541 5.1) whose first byte has a prefix of these bits; -1 if it is cut off or too large. */
  #readInteger(prefix: number): number {
    let value = (this.#bytes[this.#at++] ?? 0) & prefix;
    if (value < prefix) return value;
    for (let shift = 0; shift < 28; shift += 7) {
      if (this.#at >= this.#end) return -1;
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) << shift;
      if (value > maxInteger) return -1;
      if (byte < 0x80) return value;
    }
    return -1;
  }

  #readString(): string | undefined {
    if (this.#at >= this.#end) return undefined;
    const isHuffman = (this.#bytes[this.#at] ?? 0) >= 0x80;
    const length = this.#readInteger(0x7f);
    const start = this.#at;
    if (length < 0 || length > this.#end - start) return undefined;
    this.#at += length;
    if (isHuffman) return decodeHuffman(this.#bytes, start, this.#at);
    return this.#bytes.toString("latin1", start, this.#at);
  }
}

const nothing = Buffer.alloc(0);
