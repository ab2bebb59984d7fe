import type { HeaderFields } from "./transport.js";
import { HeaderDecoder, type HeaderList } from "./hpack/header-decoder.js";
import { RequestHead } from "./request-head.js";

/** Bounds of the header blocks whose heads are kept, and of all kept heads. */
const maxBlockBytes = 512;
const maxKnownBytes = 4_096;
const maxHeadBytes = 2_048;
/** Bytes of a kept head, at least. */
const minHeadBytes = 512;

/**
 * Decodes the header blocks of a connection. Clients send the same request again and again: as long as their table does not change, the same bytes
 * stand for the same headers, which are then decoded, checked and stored once.
 */
export class RequestHeads {
  readonly #decoder = new HeaderDecoder();
  readonly #maxBytes: number;
  readonly #maxHeadBytes: number;
  readonly #isGrpc: (fields: HeaderFields) => boolean;
  #known: { readonly block: Buffer; readonly head: RequestHead }[] | undefined;
  #knownBytes = 0;
  /** Of the table after the last block; -1 before the first, which most connections never repeat. */
  #version = -1;

  constructor(maxBytes: number, isGrpc: (fields: HeaderFields) => boolean) {
    this.#maxBytes = maxBytes;
    this.#maxHeadBytes = Math.min(maxBytes, maxHeadBytes);
    this.#isGrpc = isGrpc;
  }

  /** Head that the same bytes stood for. */
  known(bytes: Buffer, start: number, end: number): RequestHead | undefined {
    if (this.#known === undefined) return undefined;
    if (this.#version === this.#decoder.tableVersion) {
      for (const { block, head } of this.#known) if (equals(block, bytes, start, end)) return head;
    } else this.#forget();
    return undefined;
  }

  /** Undefined if the block is invalid, which ends the connection. Every block must be decoded, and in order. */
  decode(bytes: Buffer, start: number, end: number): HeaderList | undefined {
    return this.#decoder.decode(bytes, start, end, this.#maxBytes);
  }

  /** The head of a request whose block has just been decoded; undefined if it is malformed. */
  headOf(list: HeaderList, block: Buffer): RequestHead | undefined {
    const head = this.#version < 0 ? sharedHead(list, this.#isGrpc) : RequestHead.of(list, this.#isGrpc);
    const { tableVersion } = this.#decoder;
    if (this.#version !== tableVersion) {
      // This block may have changed the table.
      this.#version = tableVersion;
      this.#forget();
    } else if (head !== undefined && block.length <= maxBlockBytes && head.bytes <= this.#maxHeadBytes)
      this.#keep(block, head);
    return head;
  }

  #keep(block: Buffer, head: RequestHead): void {
    const known = (this.#known ??= []);
    this.#knownBytes += keptBytes(head);
    while (this.#knownBytes > maxKnownBytes) {
      const oldest = known.shift();
      if (oldest === undefined) break;
      this.#knownBytes -= keptBytes(oldest.head);
    }
    // Not a part of node's pool, of which it would keep 8 KB.
    const copy = Buffer.allocUnsafeSlow(block.length);
    block.copy(copy);
    known.push({ block: copy, head });
  }

  #forget(): void {
    this.#known = undefined;
    this.#knownBytes = 0;
  }
}

const maxShared = 32;
const shared: { readonly fields: string[]; readonly isGrpc: unknown; readonly head: RequestHead }[] = [];

/** The head that the first request of another connection had of the same fields: most clients differ in nothing, but for secrets. */
function sharedHead(list: HeaderList, isGrpc: (fields: HeaderFields) => boolean): RequestHead | undefined {
  const { fields } = list;
  for (const one of shared)
    if (one.isGrpc === isGrpc && equals(one.fields, fields, 0, fields.length)) return one.head;
  const before = fields.slice();
  const head = RequestHead.of(list, isGrpc);
  if (head?.isGrpc !== true || head.bytes > maxHeadBytes || head.text("authorization") !== undefined)
    return head;
  shared.unshift({ fields: before, isGrpc, head });
  shared.length = Math.min(shared.length, maxShared);
  return head;
}

function keptBytes(head: RequestHead): number {
  return Math.max(head.bytes, minHeadBytes);
}

function equals<T>(block: ArrayLike<T>, bytes: ArrayLike<T>, start: number, end: number): boolean {
  if (block.length !== end - start) return false;
  // What differs is mostly at the end.
  for (let at = block.length - 1; at >= 0; at--) if (block[at] !== bytes[start + at]) return false;
  return true;
}
