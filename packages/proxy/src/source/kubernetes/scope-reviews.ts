import type { KubeClient, ResourceScope } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import { sleep, type Context } from "@bunting/runtime";

export interface ScopeReviewsOptions {
  readonly client: KubeClient;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Called when an answer has changed: the plan may change. */
  readonly onChange: () => void;
}

/** Time after which a denied scope is reviewed again: the role may have been extended. */
const askAgainMs = 300_000;
/** Time after which a failed review is repeated. */
const retryMs = 30_000;
/** Time for which an allowed scope must be refused before it is denied: an API server that has just started denies all. */
const secondLookMs = 2_000;
/** Refused reads after which a scope is denied although every review allows it. */
const maxRefusals = 3;

/** State of a scope. An allowed scope stays `allowed` while it is reviewed again. */
type Verdict =
  | { readonly kind: "asking" }
  | { readonly kind: "allowed"; readonly refusals: number; readonly isInDoubt: boolean }
  | { readonly kind: "denied" | "unanswered"; readonly atMs: number };

/** Scopes that RBAC lets us list and watch as a whole, by SelfSubjectAccessReview, which every ServiceAccount may create. */
export class ScopeReviews {
  readonly #options: ScopeReviewsOptions;
  readonly #verdicts = new Map<string | undefined, Verdict>();
  #signal: AbortSignal = AbortSignal.abort();

  constructor(options: ScopeReviewsOptions) {
    this.#options = options;
  }

  /** Reviews scopes until the signal aborts. Before this call, and after the abort, no further scope becomes allowed. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** True if a namespace, or (without one) the cluster, may be watched as a whole; false until known. Starts a review if need be. */
  isAllowed(namespace?: string): boolean {
    const verdict = this.#verdicts.get(namespace);
    if (verdict === undefined || this.#isOld(verdict)) void this.#ask(namespace);
    return verdict?.kind === "allowed";
  }

  /** A namespace or cluster watch was refused: starts a review. The scope stays allowed until the review denies it. */
  refused(namespace?: string): void {
    const verdict = this.#verdicts.get(namespace);
    if (verdict?.kind !== "allowed" || verdict.isInDoubt) return;
    const refusals = verdict.refusals + 1;
    if (refusals >= maxRefusals) {
      this.#deny(namespace);
      return;
    }
    this.#verdicts.set(namespace, { kind: "allowed", refusals, isInDoubt: true });
    void this.#askAgain(namespace, refusals);
  }

  /** A namespace or cluster watch is in sync: it is allowed. */
  confirmed(namespace?: string): void {
    const verdict = this.#verdicts.get(namespace);
    if (verdict?.kind !== "allowed" || verdict.refusals === 0) return;
    this.#verdicts.set(namespace, { ...verdict, refusals: 0 });
  }

  #isOld(verdict: Verdict): boolean {
    if (verdict.kind === "asking" || verdict.kind === "allowed") return false;
    const ageMs = this.#options.context.clock.monotonicMs() - verdict.atMs;
    return ageMs >= (verdict.kind === "denied" ? askAgainMs : retryMs);
  }

  async #ask(namespace: string | undefined): Promise<void> {
    if (this.#signal.aborted) return;
    this.#verdicts.set(namespace, { kind: "asking" });
    const isAllowed = await this.#review(namespace);
    if (isAllowed === undefined)
      this.#verdicts.set(namespace, { kind: "unanswered", atMs: this.#options.context.clock.monotonicMs() });
    else if (isAllowed) {
      this.#verdicts.set(namespace, { kind: "allowed", refusals: 0, isInDoubt: false });
      this.#options.onChange();
    } else this.#deny(namespace);
  }

  async #askAgain(namespace: string | undefined, refusals: number): Promise<void> {
    let isAllowed = await this.#review(namespace);
    if (isAllowed === false) {
      await sleep(secondLookMs, this.#signal, this.#options.context.clock);
      if (!this.#signal.aborted) isAllowed = await this.#review(namespace);
    }
    if (this.#signal.aborted) return;
    if (isAllowed === false) this.#deny(namespace);
    else this.#verdicts.set(namespace, { kind: "allowed", refusals, isInDoubt: false });
  }

  /** Undefined if the review failed. */
  async #review(namespace: string | undefined): Promise<boolean | undefined> {
    const { client, context } = this.#options;
    const scope: ResourceScope =
      namespace === undefined ? { type: featureFlagType } : { type: featureFlagType, namespace };
    try {
      const answers = await Promise.all(
        ["list", "watch"].map((verb) => client.isAllowed(verb, scope, this.#signal)),
      );
      return answers.every(Boolean);
    } catch (error) {
      context.logger.debug({ namespace, error }, "the API server did not answer a SelfSubjectAccessReview");
      return undefined;
    }
  }

  #deny(namespace: string | undefined): void {
    const { context, onChange } = this.#options;
    const where = namespace === undefined ? "in the whole cluster" : `in the whole namespace ${namespace}`;
    this.#verdicts.set(namespace, { kind: "denied", atMs: context.clock.monotonicMs() });
    const remedy =
      "to spare the API server, allow the proxy's ServiceAccount to list and watch featureflags there";
    context.logger.info(
      { namespace },
      `RBAC does not allow watching FeatureFlags ${where}: they are watched one by one; ${remedy}`,
    );
    onChange();
  }
}
