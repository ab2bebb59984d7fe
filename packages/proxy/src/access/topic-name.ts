import type { TopicName } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";

/** The parts of `namespace/name`. A file (`file:PATH`, for tests only) is in no namespace. */
export function topicName(topic: TopicKey): TopicName {
  const slash = topic.startsWith("file:") ? -1 : topic.indexOf("/");
  return { namespace: topic.slice(0, Math.max(0, slash)), name: topic.slice(slash + 1) };
}
