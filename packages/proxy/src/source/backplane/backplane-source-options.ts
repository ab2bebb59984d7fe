import type { CheckedOptions } from "@bunting/backplane";
import type { FlagDocument } from "@bunting/protocol";
import type { Context } from "@bunting/runtime";
import type { FlagSource } from "../flag-source.js";
import type { BackplaneMetrics } from "./backplane-metrics.js";

export interface BackplaneSourceOptions {
  /** The source that watches for all replicas while this one is the owner, and for this one while Redis is away. */
  readonly source: FlagSource;
  readonly backplane: CheckedOptions;
  /** File of the keys that records are signed with; absent: records are not signed. */
  readonly keyFile?: string;
  readonly context: Context<BackplaneMetrics>;
  /** Does most of the work of reporting a large document beforehand, in slices of the event loop. */
  readonly prepare?: ((document: FlagDocument) => Promise<void>) | undefined;
}
