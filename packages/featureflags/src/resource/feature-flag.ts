import type { JsonObject } from "@bunting/protocol";
import type { CustomResource } from "./custom-resource.js";
import type { FlagRollout } from "./flag-rollout.js";

export type FeatureFlag = CustomResource<"FeatureFlag", FeatureFlagSpec>;

export interface FeatureFlagSpec {
  /** Without it there are no flags. */
  readonly flagSpec?: FlagSpec;
  /** How a new version of them reaches its agents; without it, all get it at once. */
  readonly rollout?: FlagRollout;
}

/** The document, with the fields that the CRD keeps: others are pruned when an object is stored. */
export interface FlagSpec {
  readonly flags: Readonly<Record<string, FlagDefinition>>;
  /** Of the set of flags, such as `flagSetId` and `version`. */
  readonly metadata?: JsonObject;
  readonly $evaluators?: JsonObject;
}

export interface FlagDefinition {
  readonly state: "ENABLED" | "DISABLED";
  readonly variants: JsonObject;
  /** The CRD needs it, though flagd does not. */
  readonly defaultVariant: string;
  readonly targeting?: JsonObject;
  readonly metadata?: JsonObject;
}
