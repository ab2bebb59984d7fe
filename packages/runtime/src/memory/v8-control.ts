import { setFlagsFromString } from "node:v8";

/**
 * The extent of a collection. `young`: recent allocations, in about a millisecond. `all`: the whole heap, in one pause. `last-resort`:
 * as after a failed allocation, repeated while it frees something, and with what V8 otherwise keeps for later, such as compiled code.
 */
export type Collection = "young" | "all" | "last-resort";

type Collect = (options?: {
  readonly type: "minor" | "major";
  readonly execution?: "sync";
  readonly flavor?: "last-resort";
}) => void;

/** V8 11, of Node 20, knows no options of `gc`: with any argument it collects young garbage. */
const knowsOptions = Number.parseInt(process.versions.v8, 10) >= 12;

/** False if node runs without --expose-gc, which the images set. */
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
 * Makes V8 collect when garbage reaches this percentage of what V8 would let accumulate; 0 leaves the decision to V8. The setting is
 * for the whole process, so only main.ts may choose it.
 */
export function collectAtPercent(percent: number): void {
  setV8Flags([`--incremental-marking-hard-trigger=${percent}`]);
}

/** Sets flags of V8 for the whole process while it runs. V8 prints an error for a flag that it does not know. */
export function setV8Flags(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}
