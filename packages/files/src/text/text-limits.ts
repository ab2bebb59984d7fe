import { maxDocumentDepth } from "@bunting/protocol";
import { freeHeapBytes } from "@bunting/runtime/heap";

/** What a text may contain. All of it is checked before any value is made. */
export interface TextLimits {
  /** How deep values may be nested; later stages walk them by recursion. Default: 200, as in a flag. */
  readonly maxDepth: number;
  /** How many values there may be, with all aliases and merges of YAML written out. Default: 1,000,000. */
  readonly maxValues: number;
  /** How many bytes of JSON the values may make, with all aliases and merges of YAML written out. Default: 16 MiB. */
  readonly maxJsonBytes: number;
  /** How many bytes of the heap reading may take; asked when reading begins. Default: what is free. */
  readonly heapBytes: () => number;
}

export const defaultTextLimits: TextLimits = {
  maxDepth: maxDocumentDepth,
  maxValues: 1_000_000,
  maxJsonBytes: 16 * 1024 * 1024,
  heapBytes: freeHeapBytes,
};
