import { setV8Flags } from "@bunting/runtime";
import { v8Tuning } from "./v8-tuning.js";

/**
 * Keeps V8 from optimising what the process does only once: reading its options and its first flags. The optimising compilers are 4 MB of
 * node's code that an idle sidecar does not need in memory, and they work in some megabytes of their own. Returns a function that ends the
 * delay: to be called when the first flags are served, so that evaluations are fast after the usual warm-up.
 *
 * For the whole process: only main.ts may call this. With --jitless, which leaves no WebAssembly, a compiler that is switched on ends it by SIGSEGV.
 */
export function delayOptimisation(): () => void {
  const tuning = v8Tuning(process.versions.v8);
  if (tuning === undefined || !("WebAssembly" in globalThis)) return () => undefined;
  setV8Flags(tuning.delayOptimisation);
  return () => setV8Flags(tuning.optimise);
}
