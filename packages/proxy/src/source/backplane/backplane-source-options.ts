import type { CheckedOptions } from "@bunting/backplane";
import type { FlagDocument } from "@bunting/protocol";
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
  /** Does in turns of the event loop most of what is to be done when a large document is told. */
  readonly prepare?: ((document: FlagDocument) => Promise<void>) | undefined;
}
