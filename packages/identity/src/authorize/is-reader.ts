import type { TopicReaders } from "../authorizer.js";
import type { Identity } from "../identity.js";

/** True if a FeatureFlag is shared with the namespace or the ServiceAccount of an identity. */
export function isReader(
  readers: TopicReaders | undefined,
  { namespace, serviceAccount }: Identity,
): boolean {
  if (readers === undefined) return false;
  return readers.has(namespace) || readers.has(`${namespace}/${serviceAccount}`);
}
