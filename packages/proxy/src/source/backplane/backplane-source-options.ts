import type { CheckedOptions } from "@bunting/backplane";
import type { Clock, Logger } from "@bunting/runtime";
import type { FlagSource } from "../flag-source.js";
import type { BackplaneMetrics } from "./backplane-metrics.js";

export interface BackplaneSourceOptions {
  /** Watches what this replica owns, or everything while Redis is away. */
  readonly source: FlagSource;
  /** How to use Redis; checked. */
  readonly backplane: CheckedOptions;
  /** Keys that records are signed with; none if absent. */
  readonly keyFile?: string;
  /** Whether all topics have one owner, because all are under one watch. */
  readonly isClusterWide: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: BackplaneMetrics;
}
