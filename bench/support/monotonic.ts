import { performance } from "node:perf_hooks";

/** CLOCK_MONOTONIC in ms: on Linux one clock for all processes, so times taken in different ones can be subtracted. */
export function monotonicMs(): number {
  return startedMs + performance.now();
}

/** process.hrtime reads that clock; performance.now() reads it too, from this process's start, and allocates nothing. */
const startedMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
