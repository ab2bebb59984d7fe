import { constants, PerformanceObserver, type PerformanceEntry } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { GarbageBound } from "./garbage-bound.js";

/** How often an idle process checks. A busy one does after each partial collection too, of which there are some 25 a second. */
const everyMs = 250;
/** An array of this length is 1 MB of garbage. */
const garbageLength = 128 * 1024;

/**
 * Makes V8 begin to collect once much garbage has accumulated; it does so beside the program, as always. Where that is too slow, and node runs
 * with --expose-gc as in the image, it collects at once. Affects the whole process, permanently: only main.ts may call it.
 *
 * @param discardedBytes what requests and connections that have ended left behind since the process began.
 */
export function boundGarbage(discardedBytes: () => number): void {
  const bound = new GarbageBound();
  const { gc } = globalThis;
  let isCollecting = false;
  const collected = (): void =>
    bound.collected(getHeapStatistics().used_heap_size, discardedBytes(), performance.now());
  const check = (): void => {
    if (gc !== undefined && bound.isOutrun(getHeapStatistics().used_heap_size, performance.now())) {
      gc();
      collected();
    }
    const isExceeded = bound.isExceeded(
      getHeapStatistics().used_heap_size,
      discardedBytes(),
      performance.now(),
    );
    // V8 begins only after a partial collection, which an idle process makes every few minutes.
    if (isExceeded) new Array<number>(garbageLength).fill(0);
    if (isExceeded === isCollecting) return;
    isCollecting = isExceeded;
    // The share of the garbage V8 would let accumulate at which it collects, in percent; 0 leaves the decision to V8.
    setFlagsFromString(`--incremental-marking-hard-trigger=${isExceeded ? 1 : 0}`);
    // Pages of which a fifth is free are emptied and given back; without the flag, those of which two thirds are.
    setFlagsFromString(isExceeded ? "--optimize-for-size" : "--no-optimize-for-size");
  };
  new PerformanceObserver((list) => {
    if (list.getEntries().some(isFull)) collected();
    check();
  }).observe({ entryTypes: ["gc"] });
  setInterval(check, everyMs).unref();
}

function isFull(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail: { readonly kind: number } };
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
