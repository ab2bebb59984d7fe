import { identityName } from "../identity.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import { SubjectAccessReviews, type AccessKind } from "./subject-access-reviews.js";

const paths: AccessKind<string> = {
  keyOf: (identity, path) => `${identityName(identity)} ${path}`,
  attributesOf: (path) => ({ nonResourceAttributes: { verb: "get", path } }),
  denial: () =>
    "RBAC does not allow it: bind it to a ClusterRole with this path in nonResourceURLs and the verb get",
};

/**
 * Authorizes the readers of a page by RBAC, as Kubernetes' own components do: a ServiceAccount needs `get` on this
 * nonResourceURL. Paths are from a closed set; callers can't make them up.
 */
export class PathReviews extends SubjectAccessReviews<string> {
  constructor(options: ReviewerOptions) {
    super(paths, options);
  }
}
