import { canCollect, collectGarbage, setV8Flags } from "@bunting/runtime";
import { v8Tuning } from "./v8-tuning.js";

/** The first collections free what parsing the first document left; V8 returns memory to the system only at later ones. */
const afterMs = [1_000, 2_500];

/** Most functions that run during the start never run again. */
const startUpAge = 2;

/**
 * Collects the garbage and the bytecode of the start. V8 would keep some megabytes until much more had been allocated, which never happens
 * in an idle agent. Does nothing without --expose-gc, which the image's entrypoint sets.
 */
export function collectStartUpGarbage(): void {
  if (!canCollect()) return;
  const bytecodeAge = v8Tuning(process.versions.v8)?.bytecodeAge;
  if (bytecodeAge !== undefined) setV8Flags([`--bytecode-old-age=${startUpAge}`]);
  for (const ms of afterMs)
    setTimeout(() => {
      collectGarbage("last-resort");
      if (ms === Math.max(...afterMs) && bytecodeAge !== undefined)
        setV8Flags([`--bytecode-old-age=${bytecodeAge}`]);
    }, ms).unref();
}
