import type { Clock, Logger, Registry } from "@bunting/runtime";
import type { Collector } from "./collector.js";

export interface TelemetryDependencies {
  /** Undefined sends nothing, and loads nothing. */
  readonly collector: Collector | undefined;
  readonly registry: Registry;
  readonly serviceName: string;
  readonly serviceVersion: string;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
  readonly clock: Clock;
}
