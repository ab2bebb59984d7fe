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
 * stand for the same headers, which are then decoded, checked and stored once. The first requests of connections are decoded once for all.
 */
export class RequestHeads {
  /** Undefined before the first block. */
  #decoder: HeaderDecoder | undefined;
  /** Other connections have the same decoder, until one decodes on. */
  #isShared = false;
  #isFirst = false;
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
    if (this.#decoder === undefined) return this.#firstOfAnother(bytes, start, end);
    if (this.#known === undefined) return undefined;
    if (this.#version === this.#decoder.tableVersion) {
      for (const { block, head } of this.#known) if (equals(block, bytes, start, end)) return head;
    } else this.#forget();
    return undefined;
  }

  /** Undefined if the block is invalid, which ends the connection. Every block must be decoded, unless it is known, and in order. */
  decode(bytes: Buffer, start: number, end: number): HeaderList | undefined {
    this.#isFirst = this.#decoder === undefined;
    if (this.#isShared) this.#decoder = this.#decoder?.fork();
    this.#isShared = false;
    return (this.#decoder ??= new HeaderDecoder()).decode(bytes, start, end, this.#maxBytes);
  }

  /** The head of a request whose block has just been decoded; undefined if it is malformed. */
  headOf(list: HeaderList, block: Buffer): RequestHead | undefined {
    const head = RequestHead.of(list, this.#isGrpc);
    const { tableVersion = 0 } = this.#decoder ?? {};
    if (this.#isFirst && head !== undefined) this.#share(block, head);
    if (this.#version !== tableVersion) {
      // This block may have changed the table.
      this.#version = tableVersion;
      this.#forget();
    } else if (head !== undefined && block.length <= maxBlockBytes && head.bytes <= this.#maxHeadBytes)
      this.#keep(block, head);
    return head;
  }

  #firstOfAnother(bytes: Buffer, start: number, end: number): RequestHead | undefined {
    for (const { isGrpc, block, head, decoder } of firstRequests) {
      if (isGrpc !== this.#isGrpc || head.bytes > this.#maxHeadBytes || !equals(block, bytes, start, end))
        continue;
      this.#decoder = decoder;
      this.#isShared = true;
      this.#version = decoder.tableVersion;
      return head;
    }
    return undefined;
  }

  /** Other connections may begin with the same request, unless it has a secret. */
  #share(block: Buffer, head: RequestHead): void {
    const isSmall = block.length <= maxBlockBytes && head.bytes <= this.#maxHeadBytes;
    const decoder = this.#decoder;
    if (!isSmall || !head.isGrpc || head.text("authorization") !== undefined || decoder === undefined) return;
    firstRequests.unshift({ isGrpc: this.#isGrpc, block: copyOf(block), head, decoder });
    firstRequests.length = Math.min(firstRequests.length, maxFirstRequests);
    this.#isShared = true;
  }

  #keep(block: Buffer, head: RequestHead): void {
    const known = (this.#known ??= []);
    this.#knownBytes += keptBytes(head);
    while (this.#knownBytes > maxKnownBytes) {
      const oldest = known.shift();
      if (oldest === undefined) break;
      this.#knownBytes -= keptBytes(oldest.head);
    }
    known.push({ block: copyOf(block), head });
  }

  #forget(): void {
    this.#known = undefined;
    this.#knownBytes = 0;
  }
}

interface FirstRequest {
  readonly isGrpc: unknown;
  readonly block: Buffer;
  readonly head: RequestHead;
  /** With the table after this block. */
  readonly decoder: HeaderDecoder;
}

/** What connections have begun with lately: the requests of most clients differ in nothing, but for secrets. */
const firstRequests: FirstRequest[] = [];
const maxFirstRequests = 32;

/** Not a part of node's pool, of which it would keep 8 KB. */
function copyOf(block: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(block.length);
  block.copy(copy);
  return copy;
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
