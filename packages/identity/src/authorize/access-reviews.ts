import type { Authorizer, Decision, TopicName, TopicReaders } from "../authorizer.js";
import { identityName, type Identity } from "../identity.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import { allowed } from "./decisions.js";
import { isReader } from "./is-reader.js";
import { SubjectAccessReviews, type AccessKind } from "./subject-access-reviews.js";

const resource = { group: "core.openfeature.dev", version: "v1beta1", resource: "featureflags" };

const topics: AccessKind<TopicName> = {
  keyOf: (identity, topic) =>
    `${identity.namespace}/${identity.serviceAccount} ${topic.namespace}/${topic.name}`,
  attributesOf: ({ namespace, name }) => ({
    resourceAttributes: { verb: "get", ...resource, namespace, name },
  }),
  denial: (identity, { namespace, name }) =>
    `RBAC does not allow ${identityName(identity)} to get featureflags/${name} in the namespace ${namespace}`,
  // A caller can make up any number of names, and each may be granted in the caller's own namespace.
  newPerCaller: { burst: 256, perSecond: 10 },
};

/**
 * Authorizes by RBAC: a ServiceAccount may read a FeatureFlag if it may `get` it from the API server. A FeatureFlag can be shared by annotation
 * as well.
 */
export class AccessReviews implements Authorizer {
  readonly #reviews: SubjectAccessReviews<TopicName>;

  constructor(options: ReviewerOptions) {
    this.#reviews = new SubjectAccessReviews(topics, options);
  }

  check(identity: Identity, topic: TopicName, readers?: TopicReaders): Decision | Promise<Decision> {
    if (isReader(readers, identity)) return allowed;
    return outsideOfCluster(topic) ?? this.#reviews.check(identity, topic);
  }

  recheck(identity: Identity, topic: TopicName, readers?: TopicReaders): Decision | Promise<Decision> {
    if (isReader(readers, identity)) return allowed;
    return outsideOfCluster(topic) ?? this.#reviews.recheck(identity, topic);
  }

  holds(identity: Identity, topic: TopicName, readers?: TopicReaders): Decision {
    if (isReader(readers, identity) || this.#reviews.hasGranted(identity, topic)) return allowed;
    const reason = "it is not shared with it any more, and the API server has not been asked about it";
    return { kind: "unavailable", reason };
  }
}

/** A topic without a namespace is a file; RBAC would take it for a name in all namespaces. */
function outsideOfCluster({ namespace }: TopicName): Decision | undefined {
  return namespace === "" ? { kind: "denied", reason: "it is not a FeatureFlag of a cluster" } : undefined;
}
