import { setFlagsFromString } from "node:v8";

/** The first collection frees what parsing the first document left; V8 returns memory to the system only at later collections. */
const afterMs = [1_000, 1_500, 2_000, 2_500];

/** After how many collections without a call V8 drops the bytecode of a function, which is compiled again when it is called: V8's default. */
const usualAge = Number.parseInt(process.versions.v8, 10) < 12 ? 5 : 6;
/** Most functions that run during the start never run again. */
const startUpAge = 2;

/**
 * Collects the garbage and the bytecode of the start. V8 would keep some megabytes until much more had been allocated, which never happens
 * in an idle agent. Does nothing without --expose-gc, which the image's entrypoint sets. Each collection takes a few milliseconds.
 */
export function collectStartUpGarbage(): void {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) return;
  setFlagsFromString(`--bytecode-old-age=${startUpAge}`);
  for (const ms of afterMs) setTimeout(() => gc(), ms).unref();
  setTimeout(() => setFlagsFromString(`--bytecode-old-age=${usualAge}`), Math.max(...afterMs) + 1).unref();
}
