import type { Clock } from "./clock.js";
import type { Logger } from "./logger.js";
import type { RateLimitedLog } from "./rate-limited-log.js";

/**
 * What a program hands to its parts, which pass it on whole. A part that uses less of it declares less, `Pick<Context, "clock" | "logger">`,
 * so that its tests need no more.
 */
export interface Context<Metrics = unknown> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The context of what serves peers. */
export interface ServingContext<Metrics = unknown> extends Context<Metrics> {
  /** For lines that peers can cause. */
  readonly log: RateLimitedLog;
}
