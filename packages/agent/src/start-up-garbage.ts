import { setFlagsFromString } from "node:v8";

/** After the first, what the first document brought along is garbage; V8 gives memory back only with the collections that follow. */
const afterMs = [1_000, 1_500, 2_000, 2_500];

/** After how many collections without a call V8 drops the bytecode of a function, to compile it anew if it is called again: V8's own value. */
const usualAge = Number.parseInt(process.versions.v8, 10) < 12 ? 5 : 6;
/** Most of what ran so far never runs again. */
const startUpAge = 2;

/**
 * Has the garbage of the start collected, and its code. V8 would let some megabytes lie until much more has been made, which on an idle
 * agent is never. Does nothing without --expose-gc, which the image's entrypoint has; each takes some ms.
 */
export function collectStartUpGarbage(): void {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) return;
  setFlagsFromString(`--bytecode-old-age=${startUpAge}`);
  for (const ms of afterMs) setTimeout(() => gc(), ms).unref();
  setTimeout(() => setFlagsFromString(`--bytecode-old-age=${usualAge}`), Math.max(...afterMs) + 1).unref();
}
