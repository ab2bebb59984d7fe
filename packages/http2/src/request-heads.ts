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
  #version = 0;

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
    const head = RequestHead.of(list, this.#isGrpc);
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

function keptBytes(head: RequestHead): number {
  return Math.max(head.bytes, minHeadBytes);
}

function equals(block: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (block.length !== end - start) return false;
  for (let at = 0; at < block.length; at++) if (block[at] !== bytes[start + at]) return false;
  return true;
}
