import type { KubeClient, ResourceScope } from "@bunting/kube";
import type { Clock, Logger } from "@bunting/runtime";
import { featureFlagType } from "./feature-flag-type.js";

export interface ScopeReviewsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when an answer came: what was planned without it may be planned anew. */
  readonly onChange: () => void;
}

/** After this a refused scope is asked about again: somebody may have extended the role. */
const askAgainMs = 300_000;
/** After this the question is put again that nobody answered. */
const retryMs = 30_000;

type Verdict =
  | { readonly kind: "asking" }
  | { readonly kind: "allowed" }
  | { readonly kind: "denied" | "unanswered"; readonly atMs: number };

/** What RBAC lets us list and watch as a whole, by SelfSubjectAccessReview: every ServiceAccount may ask that about itself. */
export class ScopeReviews {
  readonly #options: ScopeReviewsOptions;
  readonly #verdicts = new Map<string | undefined, Verdict>();
  #signal: AbortSignal = AbortSignal.abort();

  constructor(options: ScopeReviewsOptions) {
    this.#options = options;
  }

  /** Answers come until the signal aborts; before that, and after, nothing is allowed that was not. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Whether a namespace, or (without one) the cluster, may be watched as a whole. False until it is known to be; asks if need be. */
  isAllowed(namespace?: string): boolean {
    const verdict = this.#verdicts.get(namespace);
    if (verdict === undefined || this.#isOld(verdict)) void this.#ask(namespace);
    return verdict?.kind === "allowed";
  }

  /** A wide watch was refused: what the review said is not true any more. */
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
      logger.debug({ namespace, error }, "no answer on what RBAC allows");
    }
  }

  #deny(namespace: string | undefined): void {
    const { clock, logger } = this.#options;
    const where = namespace === undefined ? "in the whole cluster" : `in the whole namespace ${namespace}`;
    this.#verdicts.set(namespace, { kind: "denied", atMs: clock.monotonicMs() });
    const remedy =
      "allow the proxy's ServiceAccount to list and watch featureflags there to spare the API server";
    logger.info(
      { namespace },
      `RBAC does not allow to watch FeatureFlags ${where}: they are watched one by one; ${remedy}`,
    );
  }
}
