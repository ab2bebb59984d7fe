import { getHeapStatistics } from "node:v8";

/**
 * V8's heap. V8 ends a process whose heap is full, so whatever comes from outside is measured by `heapLimitBytes`, which
 * `--max-old-space-size` of node sets. These are the shares:
 *
 * | what                                          | share of the limit                           | where                              |
 * | --------------------------------------------- | -------------------------------------------- | ---------------------------------- |
 * | flags of an agent, and its sources            | 4/5 of what is left without 10 MiB           | agent, store/heap-budget.ts        |
 * | a document, or an answer, of an agent         | 1/8, at least 1 MiB                          | agent, store/heap-budget.ts        |
 * | documents that a proxy reads                  | what is free of 9/10 without the young part  | runtime, memory/heap-room.ts       |
 * | messages that have come and are not read yet  | 1/4, at least 32 MiB                         | runtime, unread-bytes.ts           |
 * | JSON and YAML while they are parsed           | what is free                                 | files, text/text-limits.ts         |
 * | what peers hold                               | all for a proxy, 1/4 for an agent, ≤ 1 GiB   | server, limits/peer-memory-budget.ts |
 * | requests of one turn of the event loop        | one for each 128 KiB                         | server, limits/read-fairness.ts    |
 *
 * The shares are limits and not reservations: together they are more than the heap, and each is for what one kind of peer could
 * do alone. Messages, documents and answers lie outside of the heap, as Buffers; a larger heap stands for a larger container.
 */
export function heapLimitBytes(): number {
  return getHeapStatistics().heap_size_limit;
}

/** Bytes in use, garbage included. */
export function usedHeapBytes(): number {
  return getHeapStatistics().used_heap_size;
}

/** Bytes that V8 has taken for the heap. */
export function totalHeapBytes(): number {
  return getHeapStatistics().total_heap_size;
}

/** Bytes outside of the heap that belong to objects in it, such as Buffers. */
export function externalBytes(): number {
  return getHeapStatistics().external_memory;
}

/** What the heap has left; garbage does not count as free. */
export function freeHeapBytes(): number {
  const { heap_size_limit, used_heap_size } = getHeapStatistics();
  return Math.max(0, heap_size_limit - used_heap_size);
}

const semiSpaceFlag = /^--max[-_]semi[-_]space[-_]size=(\d+)$/;
/** In MiB, as the image of the proxy has it. */
const usualSemiSpace = 8;

/**
 * The part of the limit that is no place for what stays: V8's young generation, which is three times `--max-semi-space-size` of node, and as much
 * again as one of these.
 *
 * @param flags those that this process was started with
 */
export function youngHeapBytes(
  flags: readonly string[] = [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(" ")],
): number {
  const [semiSpace = usualSemiSpace] = flags.flatMap(
    (flag) => semiSpaceFlag.exec(flag)?.slice(1).map(Number) ?? [],
  );
  return 4 * Math.min(semiSpace, usualSemiSpace) * 1024 * 1024;
}
