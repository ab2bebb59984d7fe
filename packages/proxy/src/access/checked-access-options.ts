import type { Authenticator, Authorizer } from "@bunting/identity";
import type { ServingContext } from "@bunting/runtime";
import type { AccessMetrics } from "./access-metrics.js";
import type { WaitingDecisionsOptions } from "./waiting-decisions.js";

export interface CheckedAccessOptions {
  /** The ways to authenticate a caller, in order: the first that finds credentials decides. */
  readonly authenticators: readonly Authenticator[];
  /** Completes "…; present", for callers that present nothing. */
  readonly wanted: string;
  /** Lets callers in that present nothing; they may read everything. */
  readonly allowsAnonymous: boolean;
  /** If absent, every admitted caller may read everything. */
  readonly authorizer?: Authorizer | undefined;
  readonly context: Omit<ServingContext<AccessMetrics & WaitingDecisionsOptions["metrics"]>, "logger">;
  /** The time between two looks at open streams, in ms; 20 s if not given. */
  readonly recheckMs?: number;
}
