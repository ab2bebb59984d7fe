import type { TopicKey } from "@bunting/protocol";

// What a watch is of: one FeatureFlag (`namespace/name`), all of a namespace (`namespace/*`), or all of the cluster (`*/*`).
export type WatchKey = TopicKey;

export const clusterKey: WatchKey = "*/*";

export function namespaceKey(namespace: string): WatchKey {
  return `${namespace}/*`;
}

export function partsOfKey(key: WatchKey): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
