/** Flags of V8 that are set while the process runs. docs/memory.md has what each is for and what it saves. */
export interface V8Tuning {
  /** Keeps V8 from optimising, so that what runs once is not optimised. */
  readonly delayOptimisation: readonly string[];
  /** V8's own values of these. */
  readonly optimise: readonly string[];
  /** After how many collections without a call V8 drops the bytecode of a function: V8's own value. */
  readonly bytecodeAge: number;
}

/** How often a function is called before each of V8's compilers takes it. */
function delayedByCalls(callsForOnStackReplacement: number): Omit<V8Tuning, "bytecodeAge"> {
  return {
    delayOptimisation: [
      "--invocation-count-for-maglev=100000",
      "--invocation-count-for-turbofan=1000000",
      "--invocation-count-for-osr=1000000",
      "--invocation-count-for-maglev-osr=1000000",
      "--no-sparkplug",
    ],
    optimise: [
      "--invocation-count-for-maglev=400",
      "--invocation-count-for-turbofan=3000",
      `--invocation-count-for-osr=${callsForOnStackReplacement}`,
      "--invocation-count-for-maglev-osr=100",
      "--sparkplug",
    ],
  };
}

/** By V8's major version. A flag that V8 does not know is printed as an error, so there is a row only for a version that was tried. */
const tunings: Readonly<Record<number, V8Tuning>> = {
  // Node 20. How much bytecode a function runs before V8 considers optimising it: enough at first for reading 1,000 flags, and little enough
  // for a later load to be optimised even if the delay never ends.
  11: {
    delayOptimisation: ["--interrupt-budget=2000000"],
    optimise: [`--interrupt-budget=${66 * 1024}`],
    bytecodeAge: 5,
  },
  // Node 22, 24 and 26.
  12: { ...delayedByCalls(800), bytecodeAge: 6 },
  13: { ...delayedByCalls(500), bytecodeAge: 6 },
  14: { ...delayedByCalls(500), bytecodeAge: 6 },
};

/** The row of a version of V8, such as "13.6.233.17-node.50"; undefined for one that was not tried: it is left as it is. */
export function v8Tuning(version: string): V8Tuning | undefined {
  return tunings[Number.parseInt(version, 10)];
}
