import { setFlagsFromString } from "node:v8";
import { v8Tuning } from "./v8-tuning.js";

/** The first collection frees what parsing the first document left; V8 returns memory to the system only at later collections. */
const afterMs = [1_000, 1_500, 2_000, 2_500];

/** Most functions that run during the start never run again. */
const startUpAge = 2;

type Collect = (options?: { type: "major"; execution: "sync"; flavor: "last-resort" }) => void;

/**
 * Collects the garbage and the bytecode of the start. V8 would keep some megabytes until much more had been allocated, which never happens
 * in an idle agent. Does nothing without --expose-gc, which the image's entrypoint sets. Each collection takes a few milliseconds.
 */
export function collectStartUpGarbage(): void {
  const { gc } = globalThis as { readonly gc?: Collect };
  if (gc === undefined) return;
  const bytecodeAge = v8Tuning(process.versions.v8)?.bytecodeAge;
  if (bytecodeAge !== undefined) setFlagsFromString(`--bytecode-old-age=${startUpAge}`);
  for (const ms of afterMs) setTimeout(() => gc(), ms).unref();
  setTimeout(
    () => {
      // As V8 collects when an allocation has failed: it also frees what it keeps for later.
      gc({ type: "major", execution: "sync", flavor: "last-resort" });
      if (bytecodeAge !== undefined) setFlagsFromString(`--bytecode-old-age=${bytecodeAge}`);
    },
    Math.max(...afterMs) + 1,
  ).unref();
}
