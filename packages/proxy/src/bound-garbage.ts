import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { GarbageBound } from "./garbage-bound.js";

const everyMs = 1_000;

/**
 * Makes V8 begin to collect once much garbage has accumulated; it does so beside the program, as always. Affects the whole process,
 * permanently: only main.ts may call it.
 */
export function boundGarbage(): void {
  const bound = new GarbageBound();
  let isCollecting = false;
  setInterval(() => {
    const isExceeded = bound.isExceeded(getHeapStatistics().used_heap_size);
    if (isExceeded === isCollecting) return;
    isCollecting = isExceeded;
    // The share of the garbage V8 would let accumulate at which it collects, in percent; 0 leaves the decision to V8.
    setFlagsFromString(`--incremental-marking-hard-trigger=${isExceeded ? 1 : 0}`);
  }, everyMs).unref();
}
