import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { createHash } from "node:crypto";
import { isTopicKey, topicKey, type TopicKey } from "@bunting/protocol";

/**
 * The document of a remote is a topic beside its FeatureFlag's, so that replicas share it, and keep copies of it, as any other. Its key names what
 * is read, and not how it is merged: another strategy fetches nothing, and another address does not begin with what the one before it said.
 * No namespace has a colon, so no subscriber can ask for it.
 */
const form = /^remote:([^:/]+):[0-9a-f]{32}\/([^/]+)$/;

export function remoteKeyOf(
  topic: TopicKey,
  { type, uri, selector = "" }: Pick<RemoteFlagProvider, "type" | "uri" | "selector">,
): TopicKey {
  const digest = createHash("sha256")
    .update(JSON.stringify([type, uri, selector]))
    .digest("hex");
  return topic.replace("/", `:${digest.slice(0, 32)}/`).replace(/^/, "remote:") as TopicKey;
}

export function isRemoteKey(text: string): text is TopicKey {
  return featureFlagOf(text) !== undefined;
}

/** The topic of the FeatureFlag that names the remote; undefined if that is no key of a remote. */
export function featureFlagOf(key: string): TopicKey | undefined {
  const [, namespace, name] = form.exec(key) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  const topic = topicKey(namespace, name);
  return isTopicKey(topic) ? topic : undefined;
}
