import type { LiveDeployment } from "../../desired/proxy/proxy-rollout.js";

/** What became of a Flagd. Messages are sentences for a person, without a full stop. */
export type FlagdOutcome =
  | {
      readonly kind: "applied";
      readonly deployment: LiveDeployment;
      /** What of it, or of its FeatureFlagSource, is not served. */
      readonly problems: readonly FlagdProblem[];
    }
  /** Nothing was changed, or only a part of it. */
  | { readonly kind: "refused"; readonly problem: FlagdProblem };

/** Outcome of a Flagd for its conditions and events, also where nothing was tried. */
export type FlagdNews =
  | FlagdOutcome
  /** This operator deploys no Flagds. */
  | { readonly kind: "unserved" };

export interface FlagdProblem {
  /** CamelCase, one word a cause. */
  readonly reason: string;
  readonly message: string;
}
