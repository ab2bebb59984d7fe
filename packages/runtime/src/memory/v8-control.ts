import { setFlagsFromString } from "node:v8";

/**
 * What V8 collects. `young`: what was allocated lately, in about a millisecond. `all`: in one pause. `last-resort`: as when an
 * allocation has failed: again while that frees something, and also what V8 keeps for later, as compiled code.
 */
export type Collection = "young" | "all" | "last-resort";

type Collect = (options?: {
  readonly type: "minor" | "major";
  readonly execution?: "sync";
  readonly flavor?: "last-resort";
}) => void;

/** V8 11, of Node 20, knows no options: whatever it is given stands for young garbage. */
const knowsOptions = Number.parseInt(process.versions.v8, 10) >= 12;

/** False where node runs without --expose-gc, which the images set. */
export function canCollect(): boolean {
  return globalThis.gc !== undefined;
}

/** Collects garbage now. Without --expose-gc this does nothing, and V8 collects when it sees fit. */
export function collectGarbage(collection: Collection): void {
  const { gc } = globalThis as { readonly gc?: Collect };
  if (collection === "young") gc?.({ type: "minor" });
  else if (collection === "all" || !knowsOptions) gc?.();
  else gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
}

/**
 * Makes V8 collect at a share of the garbage that it would let accumulate, in percent; 0 leaves the decision to V8. For the
 * whole process, so only main.ts may have this done.
 */
export function collectAtPercent(percent: number): void {
  setV8Flags([`--incremental-marking-hard-trigger=${percent}`]);
}

/** Sets flags of V8 while the process runs. A flag that V8 does not know is printed as an error. For the whole process. */
export function setV8Flags(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}
