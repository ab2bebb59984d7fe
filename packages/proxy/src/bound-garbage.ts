import { constants, PerformanceObserver, type PerformanceEntry } from "node:perf_hooks";
import { canCollect, collectAtPercent, collectGarbage, setV8Flags, usedHeapBytes } from "@bunting/runtime";
import { GarbageBound } from "./garbage-bound.js";

/** Interval of checks. A busy process also checks after each partial collection, some 25 a second. */
const everyMs = 250;
/** An array of this length is 1 MB of garbage. */
const garbageLength = 128 * 1024;

/**
 * Makes V8 begin a concurrent collection once much garbage has accumulated (GarbageBound decides). If that is too slow, and
 * node runs with --expose-gc as in the image, V8 collects in one pause. This changes the whole process for good: only
 * main.ts may call it.
 *
 * @param discardedBytes charges of all requests and connections that ended since the process began
 */
export function boundGarbage(discardedBytes: () => number): void {
  const bound = new GarbageBound();
  let isCollecting = false;
  const collected = (): void => bound.collected(usedHeapBytes(), discardedBytes(), performance.now());
  const check = (): void => {
    if (canCollect() && bound.isOutrun(usedHeapBytes(), performance.now())) {
      collectGarbage("all");
      collected();
    }
    const isExceeded = bound.isExceeded(usedHeapBytes(), discardedBytes(), performance.now());
    // V8 begins only after a partial collection, which an idle process has every few minutes.
    if (isExceeded) new Array<number>(garbageLength).fill(0);
    if (isExceeded === isCollecting) return;
    isCollecting = isExceeded;
    collectAtPercent(isExceeded ? 1 : 0);
    // Pages with a fifth of free space are emptied and given back; by default, only those with two thirds.
    setV8Flags([isExceeded ? "--optimize-for-size" : "--no-optimize-for-size"]);
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
