import { getHeapStatistics } from "node:v8";
import type { Clock } from "@bunting/runtime";

/** A part of the heap that documents leave to connections, requests and what they are answered. */
const reservedShare = 1 / 10;
/** The limit includes the young generation, 24 MiB with the image's flags, where no large text is. */
const youngBytes = 32 * 1024 * 1024;
/** Room is made for one part in so many of the time: that takes some hundred milliseconds where the heap is full, and who writes documents can cause it. */
const collectionParts = 20;

export interface Heap {
  readonly limitBytes: number;
  readonly usedBytes: () => number;
  /** Undefined where node runs without --expose-gc. */
  readonly collect: (() => void) | undefined;
}

/** The room that the heap of this process has for documents of upstreams and of records. V8 ends a process whose heap is full. */
export class HeapRoom {
  readonly #clock: Clock;
  readonly #heap: Heap;
  #collectsFromMs = -Infinity;

  constructor(clock: Clock, heap: Heap = heapOfThisProcess()) {
    this.#clock = clock;
    this.#heap = heap;
  }

  /** Much of what is in use may be garbage, which is collected if that might help. */
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

  /** Garbage does not count as free. */
  get freeBytes(): number {
    return Math.max(0, this.#wholeBytes - this.#heap.usedBytes());
  }

  get #wholeBytes(): number {
    return this.#heap.limitBytes * (1 - reservedShare) - youngBytes;
  }
}

function heapOfThisProcess(): Heap {
  const { gc } = globalThis;
  return {
    limitBytes: getHeapStatistics().heap_size_limit,
    usedBytes: () => getHeapStatistics().used_heap_size,
    collect:
      gc === undefined
        ? undefined
        : (): void => {
            gc();
          },
  };
}
