import type { Clock } from "../clock.js";
import { heapLimitBytes, usedHeapBytes, youngHeapBytes } from "./heap.js";
import { canCollect, collectGarbage } from "./v8-control.js";

/** Share of the heap that documents leave to connections, requests and responses, unless their owner leaves more. */
const usualReserve = 1 / 10;
/** Collections take at most one part in so many of the time: each takes some 100 ms, and writers of documents can cause them. */
const collectionParts = 20;

export interface Heap {
  readonly limitBytes: number;
  /** Of these, the young generation. */
  readonly youngBytes: number;
  readonly usedBytes: () => number;
  /** Undefined if node runs without --expose-gc. */
  readonly collect: (() => void) | undefined;
}

/** Whether there is heap for a document, as readers of documents see it. */
export type DocumentRoom = Pick<HeapRoom, "has" | "freeBytes">;

/** Free heap of this process for documents of upstreams and records. V8 ends a process whose heap is full. */
export class HeapRoom {
  readonly #clock: Clock;
  readonly #heap: Heap;
  readonly #reservedShare: number;
  #collectsFromMs = -Infinity;

  constructor(clock: Clock, heap: Heap = heapOfThisProcess(), reservedShare = usualReserve) {
    this.#clock = clock;
    this.#heap = heap;
    this.#reservedShare = reservedShare;
  }

  /** True if the heap has room for so many bytes; garbage is collected first if that might help. */
  has(bytes: number): boolean {
    const { collect } = this.#heap;
    if (bytes <= this.freeBytes) return true;
    if (collect === undefined || bytes > this.#wholeBytes) return false;
    const sinceMs = this.#clock.monotonicMs();
    if (sinceMs < this.#collectsFromMs) return false;
    collect();
    const endMs = this.#clock.monotonicMs();
    this.#collectsFromMs = endMs + (endMs - sinceMs) * (collectionParts - 1);
    return bytes <= this.freeBytes;
  }

  /** Free bytes; garbage is not free. */
  get freeBytes(): number {
    return Math.max(0, this.#wholeBytes - this.#heap.usedBytes());
  }

  get #wholeBytes(): number {
    const { limitBytes, youngBytes } = this.#heap;
    return limitBytes * (1 - this.#reservedShare) - youngBytes;
  }
}

function heapOfThisProcess(): Heap {
  return {
    limitBytes: heapLimitBytes(),
    youngBytes: youngHeapBytes(),
    usedBytes: usedHeapBytes,
    collect: canCollect() ? () => collectGarbage("all") : undefined,
  };
}
