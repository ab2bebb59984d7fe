import type { Extension } from "../api/extension.js";

/** Which Extension it is, and which edit of it: what two of the same version ask for is the same. */
export function extensionVersion({ metadata }: Extension): string {
  const { name, uid = "", generation = 0 } = metadata;
  return `${name} ${uid} ${generation}`;
}
