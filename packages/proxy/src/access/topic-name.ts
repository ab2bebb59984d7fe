import type { TopicName } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";

/**
 * The parts of `namespace/name`. A file (`file:PATH`, for tests only) is in no namespace. The namespaces of other clusters are called
 * `prefix/namespace`, so that none of them is taken for one of this cluster.
 */
export function topicName(topic: TopicKey): TopicName {
  const slash = topic.startsWith("file:") ? -1 : topic.lastIndexOf("/");
  return { namespace: topic.slice(0, Math.max(0, slash)), name: topic.slice(slash + 1) };
}
