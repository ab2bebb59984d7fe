import { loadOnce } from "@bunting/runtime";
import type * as jose from "jose";

export type Jose = typeof jose;

/** Loaded when the first token is verified: it takes some 8 MB. Node's `import` takes time also for what is loaded. */
export const loadJose: () => Promise<Jose> = loadOnce(() => import("jose"));
