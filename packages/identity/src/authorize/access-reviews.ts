import type { Authorizer, Decision, TopicName } from "../authorizer.js";
import { identityName, type Identity } from "../identity.js";
import { callerOf } from "../review/caller-of.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import { ReviewCache, type ReviewTimes } from "../review/review-cache.js";
import { allowed } from "./decisions.js";
import { isReader } from "./is-reader.js";
import {
  decisionOf,
  reviewAccess,
  type AccessAttributes,
  type ReviewedAccess,
} from "./subject-access-review.js";

interface Question {
  readonly identity: Identity;
  readonly topic: TopicName;
}

/** The defaults that docs/security/authorization.md states. */
export const accessReviewTimes: ReviewTimes = {
  grantedTtlMs: 300_000,
  refusedTtlMs: 30_000,
  recheckTtlMs: 30_000,
  staleIfErrorMs: 24 * 3_600_000,
  timeoutMs: 5_000,
};
/** The permission that the proxy's ServiceAccount needs for these reviews. */
export const accessPermission = "create on subjectaccessreviews.authorization.k8s.io";

/**
 * Authorizes by RBAC: a ServiceAccount may read a FeatureFlag if it may `get` it from the API server, which is asked by
 * SubjectAccessReview. A FeatureFlag can be shared by annotation as well.
 */
export class AccessReviews implements Authorizer {
  readonly #reviews: ReviewCache<Question, ReviewedAccess>;

  constructor(options: ReviewerOptions) {
    const { client } = options;
    this.#reviews = new ReviewCache<Question, ReviewedAccess>(
      {
        keyOf: ({ identity, topic }) =>
          `${identity.namespace}/${identity.serviceAccount} ${topic.namespace}/${topic.name}`,
        callerOf: ({ identity }) => callerOf(identity),
        // A caller can make up any number of names, and each may be granted in the caller's own namespace.
        newPerCaller: { burst: 256, perSecond: 10 },
        ask: ({ identity, topic }, signal) => reviewAccess(client, identity, attributesOf(topic), signal),
        isGranted: (answer) => answer === "granted",
        rejected: "refused",
      },
      accessReviewTimes,
      options,
    );
  }

  check(
    identity: Identity,
    topic: TopicName,
    readers: ReadonlySet<string> | undefined,
  ): Decision | Promise<Decision> {
    return isReader(readers, identity) ? allowed : this.#decide("answer", identity, topic);
  }

  recheck(
    identity: Identity,
    topic: TopicName,
    readers: ReadonlySet<string> | undefined,
  ): Decision | Promise<Decision> {
    return isReader(readers, identity) ? allowed : this.#decide("recheck", identity, topic);
  }

  holds(identity: Identity, topic: TopicName, readers: ReadonlySet<string> | undefined): Decision {
    if (isReader(readers, identity) || this.#reviews.hasGranted({ identity, topic })) return allowed;
    const reason = "it is not shared with it any more, and the API server has not been asked about it";
    return { kind: "unavailable", reason };
  }

  #decide(how: "answer" | "recheck", identity: Identity, topic: TopicName): Decision | Promise<Decision> {
    // A topic without a namespace is a file; RBAC would take it for a name in all namespaces.
    if (topic.namespace === "") return { kind: "denied", reason: "it is not a FeatureFlag of a cluster" };
    return decisionOf(
      () => this.#reviews[how]({ identity, topic }),
      () => denied(identity, topic),
    );
  }
}

function attributesOf({ namespace, name }: TopicName): AccessAttributes {
  const resource = { group: "core.openfeature.dev", version: "v1beta1", resource: "featureflags" };
  return { resourceAttributes: { verb: "get", ...resource, namespace, name } };
}

function denied(identity: Identity, { namespace, name }: TopicName): Decision {
  return {
    kind: "denied",
    reason: `RBAC does not allow ${identityName(identity)} to get featureflags/${name} in the namespace ${namespace}`,
  };
}
