import { createHash } from "node:crypto";
import type { Authenticator, Caller } from "../authenticator.js";
import { IdentityError } from "../identity-error.js";
import { identityName, type Identity } from "../identity.js";
import { callerOf } from "../review/caller-of.js";
import { identityErrorOf } from "../review/identity-error-of.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import { ReviewCache, type ReviewTimes } from "../review/review-cache.js";

export interface TokenReviewsOptions extends ReviewerOptions {
  /** Verifies tokens offline: the API server is asked only about tokens that pass. */
  readonly tokens: Authenticator;
  readonly audience: string;
}

interface Question {
  /** In memory as long as its streams are open, because it is reviewed again; never in a log. */
  readonly token: string;
  readonly identity: Identity;
}

type Answer = "granted" | "refused";

/** The defaults that docs/security/authorization.md states. */
export const tokenReviewTimes: ReviewTimes = {
  grantedTtlMs: 60_000,
  refusedTtlMs: 30_000,
  recheckTtlMs: 30_000,
  staleIfErrorMs: 24 * 3_600_000,
  timeoutMs: 5_000,
};
/** The permission that the proxy's ServiceAccount needs for these reviews. */
export const tokenReviewPermission = "create on tokenreviews.authentication.k8s.io";
const reviewPath = "/apis/authentication.k8s.io/v1/tokenreviews";

/** Tokens that were verified offline are also reviewed by the API server, which knows whether their Pod and ServiceAccount still exist. */
export class TokenReviews implements Authenticator {
  readonly #tokens: Authenticator;
  readonly #reviews: ReviewCache<Question, Answer>;
  readonly #questions = new WeakMap<Identity, Question>();

  constructor({ tokens, audience, ...options }: TokenReviewsOptions) {
    const { client } = options;
    this.#tokens = tokens;
    this.#reviews = new ReviewCache<Question, Answer>(
      {
        keyOf: ({ token }) => createHash("sha256").update(token).digest("base64"),
        callerOf: ({ identity }) => callerOf(identity),
        ask: async ({ token, identity }, signal) => {
          const body = reviewOf(token, audience);
          const answer = await client.raw({ method: "POST", path: reviewPath, body }, signal);
          return isConfirmed(answer as ReviewAnswer | undefined, identity, audience) ? "granted" : "refused";
        },
        isGranted: (answer) => answer === "granted",
        rejected: "refused",
      },
      tokenReviewTimes,
      options,
    );
  }

  identify(caller: Caller): Identity | undefined | Promise<Identity | undefined> {
    const identity = this.#tokens.identify(caller);
    if (identity instanceof Promise) return identity.then((settled) => this.#review(settled, caller));
    return this.#review(identity, caller);
  }

  async recheck(identity: Identity): Promise<IdentityError | undefined> {
    const offline = await this.#tokens.recheck?.(identity);
    const question = this.#questions.get(identity);
    if (offline !== undefined || question === undefined) return offline;
    try {
      return (await this.#reviews.recheck(question)) === "granted" ? undefined : revoked();
    } catch (error) {
      return identityErrorOf(error);
    }
  }

  #review(
    identity: Identity | undefined,
    { bearerToken }: Caller,
  ): Identity | undefined | Promise<Identity | undefined> {
    if (identity?.kind !== "token" || bearerToken === undefined) return identity;
    const question: Question = { token: bearerToken, identity };
    this.#questions.set(identity, question);
    const toIdentity = (answer: Answer): Identity => {
      if (answer === "granted") return identity;
      throw revoked();
    };
    try {
      const answer = this.#reviews.answer(question);
      if (!(answer instanceof Promise)) return toIdentity(answer);
      return answer.then(toIdentity).catch((error: unknown) => {
        throw identityErrorOf(error);
      });
    } catch (error) {
      throw identityErrorOf(error);
    }
  }
}

interface ReviewAnswer {
  readonly status?: {
    readonly authenticated?: unknown;
    readonly audiences?: unknown;
    readonly user?: { readonly username?: unknown };
  };
}

function reviewOf(token: string, audience: string): object {
  return {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token, audiences: [audience] },
  };
}

/** An authenticator that knows no audiences leaves them out, and then has not checked ours: that is no confirmation. */
function isConfirmed(answer: ReviewAnswer | undefined, identity: Identity, audience: string): boolean {
  const { authenticated, audiences, user } = answer?.status ?? {};
  if (authenticated !== true || user?.username !== identityName(identity)) return false;
  return Array.isArray(audiences) && audiences.includes(audience);
}

function revoked(): IdentityError {
  return new IdentityError(
    "TOKEN_REVOKED",
    "the API server does not accept the token any more: its Pod or ServiceAccount was deleted; present a new one",
  );
}
