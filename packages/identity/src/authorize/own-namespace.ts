import type { Authorizer, Decision, TopicReaders, TopicName } from "../authorizer.js";
import { identityName, type Identity } from "../identity.js";
import { allowed } from "./decisions.js";
import { isReader } from "./is-reader.js";

/** A ServiceAccount may read the FeatureFlags of its own namespace, and FeatureFlags that are shared with it. */
export const ownNamespace: Authorizer = { check: decide, holds: decide };

function decide(identity: Identity, topic: TopicName, readers?: TopicReaders): Decision {
  if (identity.namespace === topic.namespace || isReader(readers, identity)) return allowed;
  return {
    kind: "denied",
    reason: `${identityName(identity)} reads the FeatureFlags of its own namespace and those that the annotation bunting.dev/readers shares with it`,
  };
}
