import { heapLimitBytes } from "./memory/heap.js";

const heapShare = 1 / 4;
/** In any case: with a small heap, too, messages of the usual size come whole. */
const leastBytes = 32 * 1024 * 1024;

/**
 * What messages may take together that have come, in part or whole, and are not read yet. They are outside of the heap; that a process with
 * a larger heap may hold more of them is because its container is larger.
 */
export function mostUnreadBytes(limitBytes = heapLimitBytes()): number {
  return Math.max(leastBytes, limitBytes * heapShare);
}
