import type { Rate } from "@bunting/runtime";
import type { Decision } from "../authorizer.js";
import { identityName, type Identity } from "../identity.js";
import { callerOf } from "../review/caller-of.js";
import { ReviewCache, type ReviewTimes } from "../review/review-cache.js";
import { ReviewError } from "../review/review-error.js";
import type { ReviewClient, ReviewerOptions } from "../review/reviewer-options.js";
import { allowed } from "./decisions.js";

/** What ServiceAccounts may be allowed, as RBAC has it. */
export interface AccessKind<Target> {
  /** Equal for equal questions. */
  keyOf(identity: Identity, target: Target): string;
  /** The access under review: `resourceAttributes` or `nonResourceAttributes` of a SubjectAccessReview. */
  attributesOf(
    target: Target,
  ): { readonly resourceAttributes: object } | { readonly nonResourceAttributes: object };
  /** Completes a sentence: "… may not read …, because <reason>". */
  denial(identity: Identity, target: Target): string;
  /** Rate limit of new questions of each caller, where callers can make up any number of targets. */
  readonly newPerCaller?: Rate;
}

type Answer = "granted" | "refused";

interface Question<Target> {
  readonly identity: Identity;
  readonly target: Target;
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
const reviewPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Decides by RBAC what ServiceAccounts may read: the API server is asked by SubjectAccessReview. */
export class SubjectAccessReviews<Target> {
  readonly #kind: AccessKind<Target>;
  readonly #reviews: ReviewCache<Question<Target>, Answer>;

  constructor(kind: AccessKind<Target>, options: ReviewerOptions) {
    const { client } = options;
    this.#kind = kind;
    this.#reviews = new ReviewCache<Question<Target>, Answer>(
      {
        keyOf: ({ identity, target }) => kind.keyOf(identity, target),
        callerOf: ({ identity }) => callerOf(identity),
        ...(kind.newPerCaller && { newPerCaller: kind.newPerCaller }),
        ask: ({ identity, target }, signal) => review(client, identity, kind.attributesOf(target), signal),
        isGranted: (answer) => answer === "granted",
        rejected: "refused",
      },
      accessReviewTimes,
      options,
    );
  }

  check(identity: Identity, target: Target): Decision | Promise<Decision> {
    return this.#decide("answer", { identity, target });
  }

  /** As `check`, with a shorter TTL, for what goes on. */
  recheck(identity: Identity, target: Target): Decision | Promise<Decision> {
    return this.#decide("recheck", { identity, target });
  }

  /** True if a cached grant could be served while the API server is unavailable. */
  hasGranted(identity: Identity, target: Target): boolean {
    return this.#reviews.hasGranted({ identity, target });
  }

  #decide(how: "answer" | "recheck", question: Question<Target>): Decision | Promise<Decision> {
    const toDecision = (answer: Answer): Decision =>
      answer === "granted"
        ? allowed
        : { kind: "denied", reason: this.#kind.denial(question.identity, question.target) };
    try {
      const answer = this.#reviews[how](question);
      return answer instanceof Promise ? answer.then(toDecision, unavailable) : toDecision(answer);
    } catch (error) {
      return unavailable(error);
    }
  }
}

/** @throws KubeError */
async function review(
  client: ReviewClient,
  identity: Identity,
  attributes: object,
  signal: AbortSignal,
): Promise<Answer> {
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
  const { status } = (answer ?? {}) as { readonly status?: { readonly allowed?: unknown } };
  return status?.allowed === true ? "granted" : "refused";
}

function unavailable(error: unknown): Decision {
  if (error instanceof ReviewError) return { kind: "unavailable", reason: error.message };
  throw error;
}
