import { setFlagsFromString } from "node:v8";

/** How much bytecode a function runs before V8 thinks about optimising it: V8's own value in Node 20. */
const usualBudget = 66 * 1024;
/** Enough for reading 1,000 flags, and little enough for a later load to be optimised even if nobody ends the delay. */
const startBudget = 2_000_000;

/**
 * Keeps V8 from optimising what the process only does once, reading its options and its first flags. The optimising compiler is 4 MB of
 * node's code that an idle sidecar need not have in memory, and works in some megabytes of its own. Returns a function that lets
 * it loose: to be called when the first flags are served, so that evaluations are fast after the usual warm-up.
 *
 * For the whole process: only main.ts may call this.
 */
export function delayOptimisation(): () => void {
  setFlagsFromString(`--interrupt-budget=${startBudget}`);
  return () => setFlagsFromString(`--interrupt-budget=${usualBudget}`);
}
