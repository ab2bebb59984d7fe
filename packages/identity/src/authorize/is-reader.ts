import type { Readers } from "../authorizer.js";
import type { Identity } from "../identity.js";

/** Whether a FeatureFlag is shared with an identity: with its namespace, or with its ServiceAccount. */
export function isReader(readers: Readers | undefined, { namespace, serviceAccount }: Identity): boolean {
  if (readers === undefined) return false;
  return readers.has(namespace) || readers.has(`${namespace}/${serviceAccount}`);
}
