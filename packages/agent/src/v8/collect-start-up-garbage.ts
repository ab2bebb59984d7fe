import { setFlagsFromString } from "node:v8";
import { v8Tuning } from "./v8-tuning.js";

/** The first collections free what parsing the first document left; V8 returns memory to the system only at later ones. */
const afterMs = [1_000, 2_500];

/** Most functions that run during the start never run again. */
const startUpAge = 2;

type Collect = (options: { type: "major"; execution: "sync"; flavor: "last-resort" }) => void;

/**
 * Collects the garbage and the bytecode of the start. V8 would keep some megabytes until much more had been allocated, which never happens
 * in an idle agent. Does nothing without --expose-gc, which the image's entrypoint sets.
 */
export function collectStartUpGarbage(): void {
  const { gc } = globalThis as { readonly gc?: Collect };
  if (gc === undefined) return;
  const bytecodeAge = v8Tuning(process.versions.v8)?.bytecodeAge;
  if (bytecodeAge !== undefined) setFlagsFromString(`--bytecode-old-age=${startUpAge}`);
  for (const ms of afterMs) {
    setTimeout(() => {
      // As V8 collects when an allocation has failed: again while that frees something, and also what it keeps for later.
      gc({ type: "major", execution: "sync", flavor: "last-resort" });
      if (ms === Math.max(...afterMs) && bytecodeAge !== undefined)
        setFlagsFromString(`--bytecode-old-age=${bytecodeAge}`);
    }, ms).unref();
  }
}
