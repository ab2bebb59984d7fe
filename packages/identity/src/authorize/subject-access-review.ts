import type { Decision } from "../authorizer.js";
import { identityName, type Identity } from "../identity.js";
import type { ReviewClient } from "../review/review-client.js";
import { ReviewError } from "../review/review-error.js";
import { allowed } from "./decisions.js";

export type ReviewedAccess = "granted" | "refused";

/** The access under review: `resourceAttributes` or `nonResourceAttributes` of a SubjectAccessReview. */
export type AccessAttributes =
  { readonly resourceAttributes: object } | { readonly nonResourceAttributes: object };

const reviewPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/**
 * Asks the API server whether RBAC lets a ServiceAccount do something.
 *
 * @throws KubeError
 */
export async function reviewAccess(
  client: ReviewClient,
  identity: Identity,
  attributes: AccessAttributes,
  signal: AbortSignal,
): Promise<ReviewedAccess> {
  const user = identityName(identity);
  const groups = [
    "system:serviceaccounts",
    `system:serviceaccounts:${identity.namespace}`,
    "system:authenticated",
  ];
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, groups, ...attributes },
  };
  const answer = await client.raw({ method: "POST", path: reviewPath, body }, signal);
  return (answer as ReviewAnswer | undefined)?.status?.allowed === true ? "granted" : "refused";
}

interface ReviewAnswer {
  readonly status?: { readonly allowed?: unknown };
}

/** The decision that follows from an answer; `unavailable` where there is none. */
export function decisionOf(
  ask: () => ReviewedAccess | Promise<ReviewedAccess>,
  denied: () => Decision,
): Decision | Promise<Decision> {
  const toDecision = (answer: ReviewedAccess): Decision => (answer === "granted" ? allowed : denied());
  try {
    const answer = ask();
    return answer instanceof Promise ? answer.then(toDecision, unavailable) : toDecision(answer);
  } catch (error) {
    return unavailable(error);
  }
}

function unavailable(error: unknown): Decision {
  if (error instanceof ReviewError) return { kind: "unavailable", reason: error.message };
  throw error;
}
