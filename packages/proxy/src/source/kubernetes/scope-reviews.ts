import type { KubeClient, ResourceScope } from "@bunting/kube";
import type { Clock, Logger } from "@bunting/runtime";
import { featureFlagType } from "./feature-flag-type.js";

export interface ScopeReviewsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when more is allowed than was known: the plan may change. */
  readonly onChange: () => void;
}

/** After this time a denied scope is asked about again: the role may have been extended. */
const askAgainMs = 300_000;
/** After this time a question without an answer is asked again. */
const retryMs = 30_000;

type Verdict =
  | { readonly kind: "asking" }
  | { readonly kind: "allowed" }
  | { readonly kind: "denied" | "unanswered"; readonly atMs: number };

/** What RBAC lets us list and watch as a whole, by SelfSubjectAccessReview, which every ServiceAccount may ask about itself. */
export class ScopeReviews {
  readonly #options: ScopeReviewsOptions;
  readonly #verdicts = new Map<string | undefined, Verdict>();
  #signal: AbortSignal = AbortSignal.abort();

  constructor(options: ScopeReviewsOptions) {
    this.#options = options;
  }

  /** Questions are asked until the signal aborts; before this call, and after the abort, nothing new is allowed. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Whether a namespace, or (without one) the cluster, may be watched as a whole. False until that is known; asks if need be. */
  isAllowed(namespace?: string): boolean {
    const verdict = this.#verdicts.get(namespace);
    if (verdict === undefined || this.#isOld(verdict)) void this.#ask(namespace);
    return verdict?.kind === "allowed";
  }

  /** A namespace or cluster watch was refused: the review's answer is out of date. */
  refused(namespace?: string): void {
    this.#deny(namespace);
  }

  #isOld(verdict: Verdict): boolean {
    if (verdict.kind === "asking" || verdict.kind === "allowed") return false;
    const ageMs = this.#options.clock.monotonicMs() - verdict.atMs;
    return ageMs >= (verdict.kind === "denied" ? askAgainMs : retryMs);
  }

  async #ask(namespace: string | undefined): Promise<void> {
    if (this.#signal.aborted) return;
    const { client, clock, logger, onChange } = this.#options;
    const scope: ResourceScope =
      namespace === undefined ? { type: featureFlagType } : { type: featureFlagType, namespace };
    this.#verdicts.set(namespace, { kind: "asking" });
    try {
      const answers = await Promise.all(
        ["list", "watch"].map((verb) => client.isAllowed(verb, scope, this.#signal)),
      );
      if (answers.every(Boolean)) {
        this.#verdicts.set(namespace, { kind: "allowed" });
        onChange();
      } else this.#deny(namespace);
    } catch (error) {
      this.#verdicts.set(namespace, { kind: "unanswered", atMs: clock.monotonicMs() });
      logger.debug({ namespace, error }, "the API server did not answer a SelfSubjectAccessReview");
    }
  }

  #deny(namespace: string | undefined): void {
    const { clock, logger } = this.#options;
    const where = namespace === undefined ? "in the whole cluster" : `in the whole namespace ${namespace}`;
    this.#verdicts.set(namespace, { kind: "denied", atMs: clock.monotonicMs() });
    const remedy =
      "to spare the API server, allow the proxy's ServiceAccount to list and watch featureflags there";
    logger.info(
      { namespace },
      `RBAC does not allow watching FeatureFlags ${where}: they are watched one by one; ${remedy}`,
    );
  }
}
