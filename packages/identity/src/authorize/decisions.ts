import type { Decision } from "../authorizer.js";

/** Shared, because it is the decision about nearly every stream. */
export const allowed: Decision = { kind: "allowed" };
