import type { Decision } from "../authorizer.js";
import { identityName, type Identity } from "../identity.js";
import { callerOf } from "../review/caller-of.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import { ReviewCache } from "../review/review-cache.js";
import { accessReviewTimes } from "./access-reviews.js";
import { decisionOf, reviewAccess, type ReviewedAccess } from "./subject-access-review.js";

interface Question {
  readonly identity: Identity;
  readonly path: string;
}

/**
 * Authorizes the readers of a page by RBAC, as Kubernetes' own components do: a ServiceAccount needs `get` on this
 * nonResourceURL. Paths are from a closed set; callers can't make them up.
 */
export class PathReviews {
  readonly #reviews: ReviewCache<Question, ReviewedAccess>;

  constructor(options: ReviewerOptions) {
    const { client } = options;
    this.#reviews = new ReviewCache<Question, ReviewedAccess>(
      {
        keyOf: ({ identity, path }) => `${identityName(identity)} ${path}`,
        callerOf: ({ identity }) => callerOf(identity),
        ask: ({ identity, path }, signal) =>
          reviewAccess(client, identity, { nonResourceAttributes: { verb: "get", path } }, signal),
        isGranted: (answer) => answer === "granted",
        rejected: "refused",
      },
      accessReviewTimes,
      options,
    );
  }

  check(identity: Identity, path: string): Decision | Promise<Decision> {
    return decisionOf(() => this.#reviews.answer({ identity, path }), denied);
  }

  /** As `check`, with a shorter TTL, for a page that is still being sent. */
  recheck(identity: Identity, path: string): Decision | Promise<Decision> {
    return decisionOf(() => this.#reviews.recheck({ identity, path }), denied);
  }
}

function denied(): Decision {
  return {
    kind: "denied",
    reason:
      "RBAC does not allow it: bind it to a ClusterRole with this path in nonResourceURLs and the verb get",
  };
}
