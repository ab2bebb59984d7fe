import type * as jose from "jose";

export type Jose = typeof jose;

let loading: Promise<Jose> | undefined;

/** Loaded when the first token is verified: it takes some 8 MB. Node's `import` takes time also for what is loaded. */
export function loadJose(): Promise<Jose> {
  loading ??= import("jose");
  return loading;
}
