import { setFlagsFromString } from "node:v8";

interface Tuning {
  /** Enough for reading 1,000 flags, and little enough for a later load to be optimised even if the delay is never ended. */
  readonly atStart: readonly string[];
  /** V8's own values. */
  readonly afterwards: readonly string[];
}

/** V8 11 (Node 20): how much bytecode a function runs before V8 considers optimising it. */
const byBytecode: Tuning = {
  atStart: ["--interrupt-budget=2000000"],
  afterwards: [`--interrupt-budget=${66 * 1024}`],
};

/** V8 12 and newer (Node 22 and 24): how often a function is called before each of V8's compilers takes it. */
const byCalls: Tuning = {
  atStart: [
    "--invocation-count-for-maglev=100000",
    "--invocation-count-for-turbofan=1000000",
    "--invocation-count-for-osr=1000000",
    "--invocation-count-for-maglev-osr=1000000",
    "--no-sparkplug",
  ],
  afterwards: [
    "--invocation-count-for-maglev=400",
    "--invocation-count-for-turbofan=3000",
    "--invocation-count-for-osr=500",
    "--invocation-count-for-maglev-osr=100",
    "--sparkplug",
  ],
};

/**
 * Keeps V8 from optimising what the process does only once: reading its options and its first flags. The optimising compiler is 4 MB of
 * node's code that an idle sidecar does not need in memory, and it works in some megabytes of its own. Returns a function that ends the
 * delay: to be called when the first flags are served, so that evaluations are fast after the usual warm-up.
 *
 * For the whole process: only main.ts may call this.
 */
export function delayOptimisation(): () => void {
  const tuning = Number.parseInt(process.versions.v8, 10) < 12 ? byBytecode : byCalls;
  for (const flag of tuning.atStart) setFlagsFromString(flag);
  return () => {
    for (const flag of tuning.afterwards) setFlagsFromString(flag);
  };
}
